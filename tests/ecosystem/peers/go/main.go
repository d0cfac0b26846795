// A socket of go-zeromq/zmq4 for wire.py, which tells the arguments.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/go-zeromq/zmq4"
)

const messages = 1000
const patience = 20 * time.Second

func body(number int) []byte {
	return bytes.Repeat([]byte{byte(number)}, 1+number*41%40000)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func received(socket zmq4.Socket) []byte {
	message, err := socket.Recv()
	must(err)
	return message.Bytes()
}

// send sends, once there is a peer: without one a REQ of this library refuses to.
func send(socket zmq4.Socket, octets []byte) {
	err := socket.Send(zmq4.NewMsg(octets))
	for until := time.Now().Add(patience); err != nil && time.Now().Before(until); err = socket.Send(zmq4.NewMsg(octets)) {
		time.Sleep(10 * time.Millisecond)
	}
	must(err)
}

// step does the part of a role in one message, and says whether it went well.
func step(socket zmq4.Socket, role string, number int) bool {
	switch role {
	case "push":
		send(socket, body(number))
		return true
	case "pull":
		return bytes.Equal(received(socket), body(number))
	case "req":
		send(socket, body(number))
		return bytes.Equal(received(socket), body(number))
	}
	asked := received(socket)
	send(socket, asked)
	return bytes.Equal(asked, body(number))
}

func main() {
	role, how, endpoint := os.Args[1], os.Args[2], os.Args[4]
	made := map[string]func(context.Context, ...zmq4.Option) zmq4.Socket{
		"push": zmq4.NewPush, "pull": zmq4.NewPull, "req": zmq4.NewReq, "rep": zmq4.NewRep}
	socket := made[role](context.Background())
	if how == "bind" {
		must(socket.Listen(endpoint))
		fmt.Printf("tcp://%s\n", socket.Addr())
	} else {
		must(socket.Dial(endpoint))
	}
	done := 0
	for done < messages && step(socket, role, done) {
		done++
	}
	fmt.Println(done)
	io.Copy(io.Discard, os.Stdin)
}
