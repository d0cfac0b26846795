"""A thousand messages each way between pyzmq, on the library that it has loaded, and a peer that speaks the protocol by itself.

  wire.py MECHANISM[,MECHANISM] PEER [ARGUMENT ...]

Runs the peer as PEER push|pull|req|rep bind|connect NULL|CURVE ENDPOINT for every pattern, and for both that can bind. A peer that binds
prints its endpoint; one that has done its part prints how many messages went well, and stays until its input ends, that nothing is lost.
Who binds is the server of CURVE. Exit status 0 if every conversation was whole.
"""

import itertools
import subprocess
import sys
import threading

import zmq
import zmq.auth
from zmq.auth.thread import ThreadAuthenticator

# The pairs of zmq_curve(7).
CLIENT = (b"Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID", b"D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs")
SERVER = (b"rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", b"JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6")
MESSAGES = 1000
PATIENCE_S = 30
OURS = {"push": zmq.PULL, "pull": zmq.PUSH, "req": zmq.REP, "rep": zmq.REQ}


def body(number):
    return bytes([number % 256]) * (1 + number * 41 % 40000)


def set_keys(own, we_serve):
    if we_serve:
        own.curve_server, (own.curve_publickey, own.curve_secretkey) = True, SERVER
    else:
        own.curve_serverkey, (own.curve_publickey, own.curve_secretkey) = SERVER[0], CLIENT


def step(own, theirs, number):
    """Whether our part of one message went well."""
    if theirs == "pull":
        own.send(body(number))
        return True
    if theirs == "push":
        return own.recv() == body(number)
    if theirs == "req":
        asked = own.recv()
        own.send(asked)
        return asked == body(number)
    own.send(body(number))
    return own.recv() == body(number)


def converse(context, peer, theirs, how, mechanism):
    """How many messages went well here, and there."""
    own = context.socket(OURS[theirs])
    own.linger, own.rcvtimeo, own.sndtimeo = 0, PATIENCE_S * 1000, PATIENCE_S * 1000
    if mechanism == "CURVE":
        set_keys(own, how == "connect")
    endpoint = "tcp://127.0.0.1:0"
    if how == "connect":
        own.bind("tcp://127.0.0.1:*")
        endpoint = own.last_endpoint.decode().rstrip("\0")
    there = subprocess.Popen([*peer, theirs, how, mechanism, endpoint], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    ending = threading.Timer(2 * PATIENCE_S, there.kill)
    ending.start()
    try:
        if how == "bind":
            own.connect(there.stdout.readline().strip())
        done = 0
        while done < MESSAGES and step(own, theirs, done):
            done += 1
    except zmq.ZMQError as error:
        print("%s after %d" % (error, done), flush=True)
    said = there.stdout.readline().strip()
    there.communicate()
    ending.cancel()
    own.close()
    return done, int(said or -1)


def main(mechanisms, *peer):
    whole, of = 0, 0
    with zmq.Context() as context:
        judge = ThreadAuthenticator(context)
        judge.start()
        judge.configure_curve(domain="*", location=zmq.auth.CURVE_ALLOW_ANY)
        for each in itertools.product(OURS, ("bind", "connect"), mechanisms.split(",")):
            done = converse(context, peer, *each)
            of += 1
            whole += done == (MESSAGES, MESSAGES)
            print("their %s %ss, %s: %d here, %d there" % (*each, *done), flush=True)
        judge.stop()
    print("%d of %d conversations of %d messages" % (whole, of, MESSAGES))
    return 0 if whole == of else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
