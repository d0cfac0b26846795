"""A thousand questions and answers between zlink, which pyzmq has to have loaded, and JeroMQ; by hand, for JeroMQ has to be fetched.

  mvn dependency:get -Dartifact=org.zeromq:jeromq:0.6.0
  LD_LIBRARY_PATH=build/release/lib /usr/bin/python3 tests/interop/jeromq.py JEROMQ_JAR JNACL_JAR
"""

import itertools
import os
import subprocess
import sys

import zmq
import zmq.auth
from zmq.auth.thread import ThreadAuthenticator

# The pairs of zmq_curve(7).
CLIENT = (b"Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID", b"D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs")
SERVER = (b"rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", b"JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6")
MESSAGES = 1000
PATIENCE_MS = 20000


def set_up(own, is_server, mechanism):
    if mechanism == "PLAIN" and is_server:
        own.plain_server, own.zap_domain = True, b"d"
    elif mechanism == "PLAIN":
        own.plain_username, own.plain_password = b"alice", b"secret"
    elif mechanism == "CURVE" and is_server:
        own.curve_server, (own.curve_publickey, own.curve_secretkey) = True, SERVER
    elif mechanism == "CURVE":
        own.curve_serverkey, (own.curve_publickey, own.curve_secretkey) = SERVER[0], CLIENT


def talk(own, is_server, number):
    if is_server:
        own.send(own.recv())
        return True
    body = bytes([number % 256]) * (number * 41 % 40000)
    own.send(body)
    return own.recv() == body


def converse(java, mechanism, their_role, their_how):
    """How many messages went well here, and there."""
    is_server = their_role == "client"
    with zmq.Context() as context:
        judge = ThreadAuthenticator(context)
        judge.start()
        judge.configure_plain(domain="d", passwords={"alice": "secret"})
        judge.configure_curve(location=zmq.auth.CURVE_ALLOW_ANY)
        own = context.socket(zmq.REP if is_server else zmq.REQ)
        own.linger, own.rcvtimeo = 0, PATIENCE_MS
        set_up(own, is_server, mechanism)
        if their_how == "connect":
            own.bind("tcp://127.0.0.1:*")
        there = subprocess.Popen([*java, their_role, their_how, mechanism, own.last_endpoint.decode().rstrip("\0")],
                                 stdout=subprocess.PIPE, text=True)
        if their_how == "bind":
            own.connect(there.stdout.readline().strip())
        done = 0
        try:
            while done < MESSAGES and talk(own, is_server, done):
                done += 1
        except zmq.Again:
            pass
        said = there.communicate(timeout=PATIENCE_MS / 1000)[0].split()
        own.close()
        judge.stop()
    return done, int(said[-1])


def main(jars):
    path = ":".join(jars)
    here = os.path.dirname(os.path.abspath(__file__))
    faults = 0
    for each in itertools.product(("NULL", "PLAIN", "CURVE"), ("server", "client"), ("bind", "connect")):
        done = converse(["java", "-cp", path, os.path.join(here, "JeromqPeer.java")], *each)
        faults += done != (MESSAGES, MESSAGES)
        print("%s, JeroMQ is the %s, %ss: %d here, %d there" % (*each, *done), flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
