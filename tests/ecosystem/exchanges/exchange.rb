# Asks and answers over tcp by ffi-rzmq, publishes with a topic, and sends messages of two parts.
require 'ffi-rzmq'

count = ARGV[0].to_i
context = ZMQ::Context.new

def right(result)
  raise ZMQ::Util.error_string unless ZMQ::Util.resultcode_ok?(result)
end

def pair_of(context, one, other)
  first = context.socket(one)
  right first.bind('tcp://127.0.0.1:*')
  endpoint = []
  right first.getsockopt(ZMQ::LAST_ENDPOINT, endpoint)
  second = context.socket(other)
  yield second if block_given?
  right second.connect(endpoint[0].delete("\0"))
  [first, second].each { |each| each.setsockopt(ZMQ::LINGER, 0); each.setsockopt(ZMQ::RCVTIMEO, 20_000) }
end

rep, req = pair_of(context, ZMQ::REP, ZMQ::REQ)
count.times do |number|
  asked, answered = '', ''
  right req.send_string("question #{number}")
  right rep.recv_string(asked)
  right rep.send_string(asked.sub('question', 'answer'))
  right req.recv_string(answered)
  raise answered unless answered == "answer #{number}"
end

push, pull = pair_of(context, ZMQ::PUSH, ZMQ::PULL)
count.times { |number| right push.send_strings([number.to_s, 'x' * number]) }
count.times do |number|
  parts = []
  right pull.recv_strings(parts)
  raise parts.inspect unless parts == [number.to_s, 'x' * number]
end

xpub, sub = pair_of(context, ZMQ::XPUB, ZMQ::SUB) { |each| right each.setsockopt(ZMQ::SUBSCRIBE, 'even') }
right xpub.recv_string(subscribed = '')
raise subscribed.inspect unless subscribed == "\x01even"
count.times { |number| right xpub.send_string("#{number.even? ? 'even' : 'odd'} #{number}") }
(count / 2).times do |number|
  right sub.recv_string(heard = '')
  raise heard unless heard == "even #{2 * number}"
end

[rep, req, push, pull, xpub, sub].each(&:close)
context.terminate
puts "#{count} questions, #{count} of two parts, #{count / 2} by topic"
