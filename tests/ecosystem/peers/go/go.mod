module peer

go 1.21

require github.com/go-zeromq/zmq4 v0.17.0
