<?php
// Asks and answers over tcp by php-zmq, publishes with a topic, and sends messages of two parts.
$count = (int) $argv[1];
$context = new ZMQContext();

function right(bool $is, string $what): void
{
    if (!$is) {
        fwrite(STDERR, "not right: $what\n");
        exit(1);
    }
}

function pair_of(ZMQContext $context, int $one, int $other, ?string $topic = null): array
{
    $first = new ZMQSocket($context, $one);
    $first->bind('tcp://127.0.0.1:*');
    $second = new ZMQSocket($context, $other);
    if ($topic !== null) {
        $second->setSockOpt(ZMQ::SOCKOPT_SUBSCRIBE, $topic);
    }
    $second->connect(rtrim($first->getSockOpt(ZMQ::SOCKOPT_LAST_ENDPOINT), "\0"));
    foreach ([$first, $second] as $each) {
        $each->setSockOpt(ZMQ::SOCKOPT_LINGER, 0);
        $each->setSockOpt(ZMQ::SOCKOPT_RCVTIMEO, 20000);
    }
    return [$first, $second];
}

[$rep, $req] = pair_of($context, ZMQ::SOCKET_REP, ZMQ::SOCKET_REQ);
for ($number = 0; $number < $count; ++$number) {
    $req->send("question $number");
    $rep->send(str_replace('question', 'answer', $rep->recv()));
    right($req->recv() === "answer $number", "answer $number");
}

[$push, $pull] = pair_of($context, ZMQ::SOCKET_PUSH, ZMQ::SOCKET_PULL);
for ($number = 0; $number < $count; ++$number) {
    $push->sendMulti(["$number", str_repeat('x', $number)]);
}
$poll = new ZMQPoll();
$poll->add($pull, ZMQ::POLL_IN);
for ($number = 0; $number < $count; ++$number) {
    $readable = $writable = [];
    right($poll->poll($readable, $writable, 20000) === 1, 'poll');
    right($pull->recvMulti() === ["$number", str_repeat('x', $number)], "parts of $number");
}

[$xpub, $sub] = pair_of($context, ZMQ::SOCKET_XPUB, ZMQ::SOCKET_SUB, 'even');
right($xpub->recv() === "\x01even", 'subscription');
for ($number = 0; $number < $count; ++$number) {
    $xpub->send(($number % 2 ? 'odd' : 'even') . " $number");
}
for ($number = 0; $number < $count; $number += 2) {
    right($sub->recv() === "even $number", "topic of $number");
}

printf("%d questions, %d of two parts, %d by topic\n", $count, $count, $count / 2);
