#!/usr/bin/Rscript
# r-cran-pbdzmq: 100 objects there and back
library(pbdZMQ)
context <- zmq.ctx.new()
server <- zmq.socket(context, .pbd_env$ZMQ.ST$REP)
client <- zmq.socket(context, .pbd_env$ZMQ.ST$REQ)
zmq.bind(server, "ipc:///tmp/exchange_of_r")
zmq.connect(client, "ipc:///tmp/exchange_of_r")
for (number in 1:100) {
    send.socket(client, data = list(number, letters))
    send.socket(server, data = rev(receive.socket(server)))
    stopifnot(identical(receive.socket(client), list(letters, number)))
}
zmq.close(client)
zmq.close(server)
zmq.ctx.destroy(context)
