// The one translation unit that compiles Boost.Asio's own code (BOOST_ASIO_SEPARATE_COMPILATION).
#include <boost/asio/impl/src.hpp>
