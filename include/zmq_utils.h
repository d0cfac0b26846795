/* Forwarder kept so that programs which include <zmq_utils.h> still compile: everything is in
 * zmq.h. */

#ifndef ZLINK_ZMQ_UTILS_H
#define ZLINK_ZMQ_UTILS_H

#include "zmq.h"

#endif
