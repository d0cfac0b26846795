#!/usr/bin/octave -qf
% octave-zeromq: 100 requests and replies
pkg load zeromq
server = zmq_socket(ZMQ_REP);
client = zmq_socket(ZMQ_REQ);
zmq_bind(server, "ipc:///tmp/exchange_of_octave");
zmq_connect(client, "ipc:///tmp/exchange_of_octave");
for number = 1:100
  zmq_send(client, uint8(sprintf("request %d", number)));
  zmq_send(server, upper(char(zmq_recv(server, 64))));
  if !strcmp(char(zmq_recv(client, 64)), sprintf("REQUEST %d", number))
    exit(1);
  endif
endfor
zmq_close(client);
zmq_close(server);
