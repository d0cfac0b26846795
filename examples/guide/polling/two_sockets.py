"""Does jobs, and answers whoever asks how many it has done."""
import zmq

context = zmq.Context.instance()
jobs, questions = context.socket(zmq.PULL), context.socket(zmq.REP)
jobs.bind("tcp://127.0.0.1:5567")
questions.bind("tcp://127.0.0.1:5568")
poller = zmq.Poller()
poller.register(jobs, zmq.POLLIN)
poller.register(questions, zmq.POLLIN)

done = 0
while True:
    ready = dict(poller.poll())  # without end; else milliseconds
    if jobs in ready:
        jobs.recv()
        done += 1
    if questions in ready:
        questions.recv()
        questions.send(b"%d" % done)
