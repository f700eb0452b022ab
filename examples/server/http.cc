// SPDX-License-Identifier: Apache-2.0
#include "http.h"
#include <arpa/inet.h>
#include <cctype>
#include <cstdlib>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_HEAD = 8192, MOST_BODY = 1 << 20 };

std::string message::field(const std::string &name) const
{
    for (size_t at = 0, end; (end = fields.find("\r\n", at)) != std::string::npos; at = end + 2) {
        const std::string line = fields.substr(at, end - at);
        size_t i = 0;
        while (i < name.size() && i < line.size() && std::tolower((unsigned char)line[i]) == std::tolower((unsigned char)name[i]))
            i++;
        if (i == name.size() && i < line.size() && line[i] == ':') {
            const size_t from = line.find_first_not_of(' ', i + 1);
            return from == std::string::npos ? "" : line.substr(from);
        }
    }
    return "";
}

connection::~connection()
{
    close(fd);
}

bool connection::more(const std::function<bool()> &stop)
{
    pollfd p = {fd, POLLIN, 0};
    int ready;
    while ((ready = poll(&p, 1, 50)) == 0)
        if (stop())
            return false;
    char buf[65536];
    const ssize_t n = ready > 0 ? recv(fd, buf, sizeof buf, 0) : -1;
    if (n > 0)
        got.append(buf, (size_t)n);
    return n > 0;
}

bool connection::receive(message &m, const std::function<bool()> &stop)
{
    size_t end;
    while ((end = got.find("\r\n\r\n")) == std::string::npos)
        if (got.size() > MOST_HEAD || !more(stop))
            return false;
    const size_t line = got.find("\r\n");
    m.first = got.substr(0, line);
    m.fields = end > line ? got.substr(line + 2, end - line) : "";
    const long length = std::atol(m.field("Content-Length").c_str());
    if (length < 0 || length > MOST_BODY)
        return false;
    while (got.size() < end + 4 + (size_t)length)
        if (!more(stop))
            return false;
    m.body = got.substr(end + 4, (size_t)length);
    got.erase(0, end + 4 + (size_t)length);
    return true;
}

bool connection::send(const message &m)
{
    const std::string all = m.first + "\r\n" + m.fields + "Content-Length: " + std::to_string(m.body.size()) + "\r\n\r\n" + m.body;
    for (size_t at = 0; at < all.size();) {
        const ssize_t n = ::send(fd, all.data() + at, all.size() - at, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

static int on_loopback(int port, int (*call)(int, const sockaddr *, socklen_t))
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    sockaddr_in a = {};
    a.sin_family = AF_INET;
    a.sin_port = htons((uint16_t)port);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (fd >= 0 && call(fd, (const sockaddr *)&a, sizeof a)) {
        close(fd);
        return -1;
    }
    return fd;
}

int listen_on(int port, int *bound)
{
    const int fd = on_loopback(port, bind);
    sockaddr_in a = {};
    socklen_t size = sizeof a;
    if (fd < 0 || listen(fd, 64) || getsockname(fd, (sockaddr *)&a, &size))
        return -1;
    *bound = ntohs(a.sin_port);
    return fd;
}

int connect_to(int port)
{
    return on_loopback(port, connect);
}
