// SPDX-License-Identifier: Apache-2.0
// As much of HTTP/1.1 as the server and its clients take: requests and answers with a Content-Length, on connections that stay open.
// A real server has a library for this.
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H
#include <functional>
#include <string>

struct message {
    std::string first;  // "GET /metrics HTTP/1.1", "HTTP/1.1 200 OK"
    std::string fields; // "Content-Type: text/plain\r\n", each line with its end
    std::string body;
    std::string field(const std::string &name) const; // its value; "" if it is missing
};

class connection {
public:
    explicit connection(int fd) : fd(fd) {}
    connection(const connection &) = delete;
    ~connection();
    // False: the peer has closed it, sends what is no message, or stop() said so; it is asked every 50 ms while nothing comes.
    bool receive(message &, const std::function<bool()> &stop);
    bool send(const message &);

private:
    bool more(const std::function<bool()> &stop);
    int fd;
    std::string got;
};

int listen_on(int port, int *bound); // of loopback; port 0: any. Below 0: it cannot
int connect_to(int port);            // likewise
#endif
