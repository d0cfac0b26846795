#!/usr/bin/ruby
# ruby-ffi-rzmq-core: 1000 messages from PUSH to PULL
require "ffi-rzmq-core"

context = LibZMQ.zmq_ctx_new
pull = LibZMQ.zmq_socket(context, ZMQ::PULL)
push = LibZMQ.zmq_socket(context, ZMQ::PUSH)
LibZMQ.zmq_bind(pull, "ipc:///tmp/exchange_of_ruby").zero? or exit 1
LibZMQ.zmq_connect(push, "ipc:///tmp/exchange_of_ruby").zero? or exit 1
buffer = FFI::MemoryPointer.new(64)
1000.times do |number|
  text = "message #{number}"
  buffer.write_string(text)
  LibZMQ.zmq_send(push, buffer, text.size, 0) == text.size or exit 1
end
1000.times do |number|
  size = LibZMQ.zmq_recv(pull, buffer, 64, 0)
  buffer.read_string(size) == "message #{number}" or exit 1
end
LibZMQ.zmq_close(push)
LibZMQ.zmq_close(pull)
LibZMQ.zmq_ctx_term(context)
