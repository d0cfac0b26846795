# Asks and answers over tcp by ZMQ::FFI, publishes with a topic, and sends messages of two parts.
use strict;
use warnings;
use ZMQ::FFI qw(ZMQ_REP ZMQ_REQ ZMQ_PUSH ZMQ_PULL ZMQ_XPUB ZMQ_SUB ZMQ_LAST_ENDPOINT ZMQ_RCVTIMEO ZMQ_LINGER);

my $count   = $ARGV[0];
my $context = ZMQ::FFI->new();

sub pair_of {
    my ($one, $other, $topic) = @_;
    my $first = $context->socket($one);
    $first->bind('tcp://127.0.0.1:*');
    my $second = $context->socket($other);
    $second->subscribe($topic) if defined $topic;
    $second->connect($first->get(ZMQ_LAST_ENDPOINT, 'string') =~ s/\0//gr);
    for ($first, $second) {
        $_->set(ZMQ_LINGER, 'int', 0);
        $_->set(ZMQ_RCVTIMEO, 'int', 20_000);
    }
    return ($first, $second);
}

my ($rep, $req) = pair_of(ZMQ_REP, ZMQ_REQ);
for my $number (0 .. $count - 1) {
    $req->send("question $number");
    $rep->send($rep->recv() =~ s/question/answer/r);
    my $answer = $req->recv();
    die $answer unless $answer eq "answer $number";
}

my ($push, $pull) = pair_of(ZMQ_PUSH, ZMQ_PULL);
$push->send_multipart([$_, 'x' x $_]) for 0 .. $count - 1;
for my $number (0 .. $count - 1) {
    my @parts = $pull->recv_multipart();
    die "@parts" unless @parts == 2 && $parts[0] eq $number && $parts[1] eq 'x' x $number;
}

my ($xpub, $sub) = pair_of(ZMQ_XPUB, ZMQ_SUB, 'even');
my $subscribed = $xpub->recv();
die $subscribed unless $subscribed eq "\x01even";
$xpub->send(($_ % 2 ? 'odd' : 'even') . " $_") for 0 .. $count - 1;
for my $number (0 .. $count / 2 - 1) {
    my $heard = $sub->recv();
    die $heard unless $heard eq 'even ' . 2 * $number;
}

printf "%d questions, %d of two parts, %d by topic\n", $count, $count, $count / 2;
