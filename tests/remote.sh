#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The remote tier over the servers that fleets run: nginx, with passwords and TLS too, and Redis, on loopback, in a folder of
# their own. First what suite `remote` does over every server, then the sett command as an operator uses it.
set -u
b=${1:-build/release}
sett=$b/sett
PATH=$PATH:/usr/sbin:/sbin
d=$(mktemp -d)
nginx='' redis='' bad=0 n=0
trap 'kill $nginx $redis 2>/dev/null; wait; rm -rf "$d"' EXIT
skip() { echo "skipped: $*"; exit 0; }

[ -e "$b/libsett-remote.so" ] || skip "libsett-remote.so was not built"
why=$(tools/setup servers 2>&1) || [ -x "$(command -v nginx)" ] && [ -x "$(command -v redis-server)" ] ||
    skip "nginx and redis-server are not installed: $(printf '%s' "$why" | tail -n 1)"

# ---- the servers -------------------------------------------------------------------------------------
secret=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff
echo $secret >"$d/secret" && chmod 600 "$d/secret"
echo 'operator:{PLAIN}pass word' >"$d/users"
mkdir "$d/store"
tls=
if command -v openssl >/dev/null; then
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1,DNS:localhost \
        -keyout "$d/key.pem" -out "$d/cert.pem" 2>/dev/null &&
        openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=other -keyout "$d/key2.pem" -out "$d/other.pem" 2>/dev/null && tls=yes
fi
configure() { # port
    cat <<EOF
$([ "$(id -u)" = 0 ] && echo 'user root;')
daemon off;
pid $d/nginx.pid;
error_log $d/error.log;
worker_processes 1;
events { worker_connections 256; }
http {
    access_log $d/access.log;
    client_body_temp_path $d/body;
    proxy_temp_path $d/proxy;
    fastcgi_temp_path $d/fastcgi;
    uwsgi_temp_path $d/uwsgi;
    scgi_temp_path $d/scgi;
    client_max_body_size 64m;
    root $d/store;
    limit_req_zone \$server_port zone=once:64k rate=1r/m;
    dav_methods PUT;
    create_full_put_path on;
    server {
        listen 127.0.0.1:$1;
        location / { }
        location /private/ { auth_basic sett; auth_basic_user_file $d/users; }
        location /moved/ { return 302 /cli/; }
        location /broken/ { return 500; }
        location /once/ { limit_req zone=once; }
        location /given/ { alias $d/store/cli/; limit_except GET { deny all; } }
    }
    include $d/docs.conf;
    ${tls:+server { listen 127.0.0.1:$(($1 + 1)) ssl; ssl_certificate $d/cert.pem; ssl_certificate_key $d/key.pem; location / { \}\}}
}
EOF
}
# What docs/cache.md tells operators to write, but for its port and folder.
operators() { # port
    sed -n '/^```nginx$/,/^```$/p' docs/cache.md | grep -v '^```' |
        sed "s|listen 8080;|listen 127.0.0.1:$1;|; s|/srv/sett|$d/operator|g" >"$d/docs.conf"
}
mkdir -p "$d/operator/store" "$d/operator/tmp"
redis_line=$(sed -n 's/^    redis-server --port 6379 \(--.*\) --requirepass .*/\1/p' docs/cache.md)
[ -n "$redis_line" ] || { echo "docs/cache.md starts no Redis"; exit 1; }
answers() { # process, port: it lives, and has bound the port
    for _ in $(seq 3000); do
        kill -0 "$1" 2>/dev/null || return 1
        grep -qi "$(printf ':%04X 00000000:0000 0A' "$2")" /proc/net/tcp && return 0
        sleep 0.1
    done
    return 1
}
port=$((20000 + $$ % 12000)) # below those that the system gives to who asks for any
for _ in 1 2 3 4 5 6 7 8; do
    port=$((port + 17))
    configure $port >"$d/nginx.conf"
    operators $((port + 2))
    grep -q 'listen 127' "$d/docs.conf" || { echo "docs/cache.md has no server of nginx"; exit 1; }
    nginx -p "$d" -c "$d/nginx.conf" 2>"$d/nginx.log" &
    nginx=$!
    answers $nginx $port && break
    kill $nginx 2>/dev/null
    nginx=
done
[ -n "$nginx" ] || { cat "$d/nginx.log"; echo "nginx does not start"; exit 1; }
redis_port=$((port + 3))
for _ in 1 2 3 4 5 6 7 8; do
    redis_port=$((redis_port + 17))
    over_tls="${tls:+--tls-port $((redis_port + 1)) --tls-cert-file $d/cert.pem --tls-key-file $d/key.pem --tls-auth-clients no}"
    eval "exec redis-server $redis_line --port $redis_port --bind 127.0.0.1 127.0.0.2 --dir $d --requirepass p@ss --maxmemory 64mb $over_tls" >"$d/redis.log" 2>&1 &
    redis=$!
    answers $redis $redis_port && { [ -z "$tls" ] || answers $redis $((redis_port + 1)); } && break
    kill $redis 2>/dev/null
    redis=
done
[ -n "$redis" ] || { cat "$d/redis.log"; echo "redis-server does not start"; exit 1; }

# ---- the suite over them -------------------------------------------------------------------------------
u=http://127.0.0.1:$port
by_name=localhost # a bare root has no /etc/hosts
getent hosts $by_name >/dev/null || by_name=127.0.0.1
all="$u/plain http://127.0.0.1:$((port + 2))/sett $u/bazel|layout=bazel http://operator:pass%20word@127.0.0.1:$port/private redis://:p%40ss@127.0.0.1:$redis_port
redis://default:p%40ss@$by_name:$redis_port/1|prefix=kernels/"
[ -z "$tls" ] || all="$all https://127.0.0.1:$((port + 1))/tls/|ca=$d/cert.pem rediss://:p%40ss@$by_name:$((redis_port + 1))/2|ca=$d/cert.pem"
SETT_TEST_REMOTES=$(echo "$all" | tr '\n' ' ') CK_RUN_CASE="over every server" "$b/runner" remote >"$d/suite" 2>&1 || {
    cat "$d/suite"
    bad=$((bad + 1))
}
grep -qE '^100%: Checks: 80,' "$d/suite" || { cat "$d/suite"; bad=$((bad + 1)); }
n=$((n + 80))
[ -n "$(find "$d/store/bazel/cas" "$d/store/plain" "$d/store/private" "$d/operator/store/sett" -type f)" ] || { echo "nginx has no file"; bad=$((bad + 1)); }
kept=$(for db in 0 1 2; do redis-cli -p $redis_port -a 'p@ss' --no-auth-warning -n $db dbsize; done | tr '\n' ' ')
echo "$kept" | grep -qE '^[1-9][0-9]* [1-9][0-9]* [1-9][0-9]* $' || { echo "Redis holds $kept"; bad=$((bad + 1)); }

# ---- the command ----------------------------------------------------------------------------------------
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"
# An assembler that makes the least cubin that is sound, and one that fails: who has the first one's kernels needs none.
{ printf '\177ELF\002\001\001\000\000\000\000\000\000\000\000\000\000\000\276\000\001\000\000\000' && head -c 28 /dev/zero && printf '\100' &&
    head -c 11 /dev/zero; } >"$d/cubin"
version='[ "$1" = --version ] && echo "release 13.0, V13.0.99" && exit'
printf '#!/bin/sh\n%s\nwhile [ $# -gt 0 ]; do [ "$1" = -o ] && cat %s/cubin >"$2"; shift; done\nexit 0\n' "$version" "$d" >"$d/works"
printf '#!/bin/sh\n%s\necho refused; exit 1\n' "$version" >"$d/fails"
chmod +x "$d/works" "$d/fails"
printf 'family %s saxpy_family\n .targets = sm_80, sm_90a\n' "$PWD/$b/libfamilies.so" >"$d/k.warm"
export SETT_NVJITLINK=/nowhere SETT_PTXAS="$d/works" SETT_CACHE_REMOTE="$u/cli|secret=$d/secret"
expect 0 '"compiled": 2, "failed": 0' warm "$d/k.warm" --cache-dir "$d/a"
[ "$(find "$d/store/cli" -type f | grep -cE '/[0-9a-f]{64}$')" = 2 ] || { echo "nginx was not sent two entries"; bad=$((bad + 1)); }
expect 0 "^1  $u/cli: a server, read and written" cache layers --cache-dir "$d/a"
expect 0 '"remote": true, "writable": true' cache layers --json --cache-dir "$d/a"
SETT_PTXAS=$d/fails expect 0 '"fetched": 2, "compiled": 0, "failed": 0' warm "$d/k.warm" --cache-dir "$d/b"
expect 0 '^2 entries, [0-9]+ bytes, 0 damaged' cache verify --cache-dir "$d/b"
SETT_CACHE_REMOTE="$u/given|secret=$d/secret" SETT_PTXAS=$d/fails expect 0 '"state": "fetched"' warm "$d/k.warm" --cache-dir "$d/c"
# Entries that another secret has authenticated are refused, which is told once, and made anew.
echo 11112233445566778899aabbccddeeff00112233445566778899aabbccddeeff >"$d/secret2" && chmod 600 "$d/secret2"
SETT_CACHE_REMOTE="$u/cli|secret=$d/secret2" expect 0 '"fetched": 0, "compiled": 2, "failed": 0' warm "$d/k.warm" -j 2 --cache-dir "$d/g"
n=$((n + 1))
[ "$(printf '%s\n' "$out" | grep -c "^sett: cache: $u/cli: [0-9a-f]* was refused: it is authenticated by a secret that we do not have$")" = 1 ] &&
    [ "$(printf '%s\n' "$out" | grep -c '^sett: 1 more warning is like those; SETT_LOG=warning tells them$')" = 1 ] ||
    { echo "refused entries are not told once: $out"; bad=$((bad + 1)); }
"$sett" doctor >"$d/doctor" 2>&1
grep -qxF "remote cache: $u/cli answers" "$d/doctor" || { cat "$d/doctor"; bad=$((bad + 1)); }
# A server that answers once is asked once.
SETT_CACHE_REMOTE="$u/once|trusted" "$sett" doctor >"$d/doctor" 2>&1
grep -qxF "remote cache: $u/once answers" "$d/doctor" || { cat "$d/doctor"; bad=$((bad + 1)); }
# Each of these costs a warning, and no kernel.
compile_says() { # pattern, remote
    SETT_CACHE_REMOTE="$2" SETT_CACHE_DIR='' expect 0 "$1" compile saxpy --target sm_90a --emit cubin -o "$d/out"
}
compile_says "$u/moved: HTTP 302: a redirect, which is not followed" "$u/moved|secret=$d/secret"
compile_says "$u/broken: HTTP 500" "$u/broken|secret=$d/secret"
compile_says "http://127.0.0.1:$port/private: HTTP 401" "http://operator:wrong@127.0.0.1:$port/private|secret=$d/secret"
compile_says "Redis: WRONGPASS" "redis://:wrong@127.0.0.1:$redis_port|secret=$d/secret"
compile_says "its entries must be authenticated" "$u/cli"
if [ -n "$tls" ]; then # nobody is believed whose certificate is another's, or by an authority that was not named
    s=https://127.0.0.1:$((port + 1))/tls r=rediss://:p%40ss@127.0.0.1:$((redis_port + 1))
    compile_says "(certificate|SSL)" "$s|secret=$d/secret"
    compile_says "(certificate|SSL)" "$s|ca=$d/other.pem|secret=$d/secret"
    compile_says "TLS: its certificate is not accepted: self-signed certificate" "$r|secret=$d/secret"
    compile_says "TLS: its certificate is not accepted: self-signed certificate" "$r|ca=$d/other.pem|secret=$d/secret"
    compile_says "TLS: its certificate is not accepted: IP address mismatch" "rediss://:p%40ss@127.0.0.2:$((redis_port + 1))|ca=$d/cert.pem|secret=$d/secret"
    compile_says "rediss://127.0.0.1:$redis_port: TLS: " "rediss://:p%40ss@127.0.0.1:$redis_port|ca=$d/cert.pem|secret=$d/secret"
    compile_says "ca=/nowhere cannot be used: No such file" "$r|ca=/nowhere|secret=$d/secret"
    [ "$(redis-cli -p $redis_port -a 'p@ss' --no-auth-warning dbsize)" = "${kept%% *}" ] || { echo "an entry was sent to who is not believed"; bad=$((bad + 1)); }
    SETT_PTXAS=$d/fails SETT_CACHE_REMOTE="$r|ca=$d/cert.pem|secret=$d/secret" expect 1 'refused' compile saxpy --target sm_90a --emit cubin --cache-dir '' -o "$d/out"
    SETT_CACHE_REMOTE="$r|ca=$d/cert.pem|secret=$d/secret" expect 0 '"compiled": 2, "failed": 0' warm "$d/k.warm" --cache-dir "$d/e"
    SETT_PTXAS=$d/fails SETT_CACHE_REMOTE="$r|ca=$d/cert.pem|secret=$d/secret" expect 0 '"fetched": 2, "compiled": 0, "failed": 0' warm "$d/k.warm" --cache-dir "$d/f"
    # Who pours without end, over TLS too: lines and bodies that do not end, and records that are no data (k: updates of keys).
    poured() { # scheme, pattern, options of s_server, what it begins with, what it says over and over
        evil_port=$((redis_port + 11 + n))
        # shellcheck disable=SC2086
        { printf "$4"; yes "$5" | if [ "$5" = k ]; then cat; else tr -d '\n'; fi; } |
            openssl s_server -accept 127.0.0.1:$evil_port -cert "$d/cert.pem" -key "$d/key.pem" $3 >/dev/null 2>&1 &
        evil=$!
        answers $evil $evil_port || { echo "s_server does not start"; bad=$((bad + 1)); }
        was=$sett
        printf '#!/bin/sh\nulimit -t 20 && exec %s "$@"\n' "$(realpath "$was")" >"$d/limited" && chmod 700 "$d/limited"
        sett=$d/limited # reading on for ever is CPU time
        compile_says "$2" "$1://127.0.0.1:$evil_port|ca=$d/cert.pem|secret=$d/secret|read-only|total-ms=500"
        sett=$was
        kill $evil 2>/dev/null
        wait $evil 2>/dev/null
    }
    poured rediss 'a line that does not end' -quiet '+' a
    poured rediss 'says more than it was asked for|not in time' -quiet '$5\r\nabcde\r\n' 'more'
    poured rediss 'no answer|TLS' -tls1_3 '' k
    poured https 'refused: an answer of more than 16777216 bytes|timed out' -quiet 'HTTP/1.1 200 OK\r\n\r\n' x
    poured https 'header' -quiet 'HTTP/1.1 200 OK\r\nX: ' x
    poured https '127.0.0.1:[0-9]*: ' -tls1_3 '' k
fi
kill $nginx && wait $nginx 2>/dev/null
nginx=
compile_says "$u/cli: .*(refused|connect)" "$u/cli|secret=$d/secret"
"$sett" doctor >"$d/doctor" 2>&1
grep -qF "remote cache: $u/cli does not answer: " "$d/doctor" || { cat "$d/doctor"; bad=$((bad + 1)); }
echo "$n passed, $bad failed"
[ "$bad" = 0 ]
