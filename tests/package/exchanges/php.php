#!/usr/bin/php
<?php // php8.2-zmq: 1000 requests and replies
$context = new ZMQContext();
$server = $context->getSocket(ZMQ::SOCKET_REP);
$server->bind("tcp://127.0.0.1:*");
$client = $context->getSocket(ZMQ::SOCKET_REQ);
$client->connect($server->getSockOpt(ZMQ::SOCKOPT_LAST_ENDPOINT));
for ($i = 0; $i < 1000; $i++) {
    $client->send("request $i");
    $server->send(strtoupper($server->recv()));
    if ($client->recv() !== "REQUEST $i")
        exit(1);
}
