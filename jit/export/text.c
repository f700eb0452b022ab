/* SPDX-License-Identifier: Apache-2.0 */
/* C under the names of an export. */
#include "inside.h"
#include <string.h>

static bool in_word(char c)
{
    return c && (strchr(SETT__LETTERS, c) || strchr(SETT__DIGITS, c) || c == '_');
}

/* At a word: puts it, or the export's name for it. Returns how long it was. */
static size_t put_word(const sett__export *x, sett__sink *to, const char *at, const char *end, bool quoted)
{
    size_t n = 0;
    while (at + n < end && in_word(at[n]))
        n++;
    const bool call = n > 5 && !memcmp(at, "sett_", 5), constant = n > 5 && !memcmp(at, "SETT_", 5);
    const bool ours = quoted ? n == 12 && !memcmp(at, "sett_prepare", n) : call || constant;
    if (ours)
        sett__put(to, call ? x->name : x->upper);
    sett__put_n(to, ours ? at + 4 : at, ours ? n - 4 : n);
    return n;
}

void sett__export_put(const sett__export *x, sett__sink *to, const char *c, size_t len)
{
    bool quoted = false;
    for (const char *at = c, *end = c + len; at < end;) {
        if (in_word(*at)) {
            at += put_word(x, to, at, end, quoted);
            continue;
        }
        const size_t n = *at == '\\' && at + 1 < end ? 2 : 1;
        const bool character = *at == '\'' && !quoted && end - at > 2 && at[2] == '\'';
        if (*at == '"')
            quoted = !quoted;
        sett__put_n(to, at, character ? 3 : n);
        at += character ? 3 : n;
    }
}

void sett__export_putf(const sett__export *x, sett__sink *to, const char *format, ...)
{
    char c[2048];
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(c, sizeof c, format, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= sizeof c)
        to->failed = true;
    else
        sett__export_put(x, to, c, (size_t)n);
}

/* Is it a keyword of C11, C23 or C++20, or a name that the headers of an export define? */
bool sett__export_keyword(const char *word)
{
    static const char words[] = " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class co_await "
        "co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do double "
        "dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace new noexcept "
        "not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires restrict return short signed "
        "sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename typeof "
        "union unsigned using virtual void volatile wchar_t while xor xor_eq errno stdin stdout stderr linux unix int8_t int16_t int32_t int64_t "
        "uint8_t uint16_t uint32_t uint64_t ";
    char key[SETT__EXPORT_WORD + 2];
    snprintf(key, sizeof key, " %s ", word);
    return strstr(words, key) != NULL;
}

/* INT64_MAX and the like. */
static bool limit_of_stdint(const char *word)
{
    static const char *const begins[] = {"INT", "UINT", "PTRDIFF_", "SIG_ATOMIC_", "SIZE_", "WCHAR_", "WINT_"}, *const ends[] = {"_MIN", "_MAX", "_WIDTH"};
    bool begin = false, end = false;
    for (size_t i = 0; i < SETT__COUNT(begins); i++)
        begin |= !strncmp(word, begins[i], strlen(begins[i]));
    for (size_t i = 0; i < SETT__COUNT(ends); i++)
        end |= strlen(word) > strlen(ends[i]) && !strcmp(word + strlen(word) - strlen(ends[i]), ends[i]);
    return begin && end;
}

/* The type that parameters behind this one may have. */
static bool is_buf(const sett__export *x, const char *word)
{
    const size_t n = strlen(x->name);
    return !strncmp(word, x->name, n) && !strcmp(word + n, "_buf");
}

const char *sett__export_word(const sett__export *x, const char *name, char word[SETT__EXPORT_WORD])
{
    size_t n = 0;
    if (strchr(SETT__DIGITS, *name) || *name == '_') /* the implementation's names begin so */
        word[n++] = 'p';
    for (; *name && n < SETT__EXPORT_WORD - 24; name++)
        word[n++] = in_word(*name) ? *name : '_';
    word[n] = 0;
    if (sett__export_keyword(word) || limit_of_stdint(word) || is_buf(x, word))
        strcpy(word + n, "_");
    return word;
}
