// The one translation unit that compiles Boost.Asio; everywhere else it is declarations only.
#ifndef BOOST_ASIO_SEPARATE_COMPILATION
#define BOOST_ASIO_SEPARATE_COMPILATION
#endif
#include <boost/asio/impl/src.hpp>
