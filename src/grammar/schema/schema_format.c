#include "grammar/schema/schema_string.h"

#include <stdio.h>
#include <string.h>

// Formats as patterns, which may have fewer texts than the format. Those of e-mail and hosts leave
// out names that resolvers reserve, and bound each part.
#define DIGIT_YEAR "(?:\\d{3}[1-9]|\\d{2}[1-9]0|\\d[1-9]00|[1-9]000)"
#define LEAP_YEAR                                                                                  \
    "(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][48]|[2468]0|[13579][26])00)"
#define DATE                                                                                       \
    "(?:" DIGIT_YEAR "-(?:02-(?:0[1-9]|1\\d|2[0-8])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|"          \
    "(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01]))|" LEAP_YEAR "-02-29)"
#define TIME                                                                                       \
    "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,6})?(?:Z|[-+](?:[01]\\d|2[0-3]):[0-5]\\d)"
#define SECONDS "\\d{1,4}S"
#define MINUTES "\\d{1,4}M(?:" SECONDS ")?"
#define HOURS   "\\d{1,4}H(?:" MINUTES ")?"
#define CLOCK   "T(?:" HOURS "|" MINUTES "|" SECONDS ")"
#define DAYS    "\\d{1,4}D"
#define MONTHS  "\\d{1,4}M(?:" DAYS ")?"
#define YEARS   "\\d{1,4}Y(?:" MONTHS ")?"
#define HEX     "[0-9a-fA-F]"
#define GROUP   "[0-9a-fA-F]{1,4}"
#define BYTE    "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
#define IPV4    BYTE "(?:\\." BYTE "){3}"
#define IPV6                                                                                       \
    "(?:(?:" GROUP ":){7}" GROUP "|(?:" GROUP ":){1,7}:|(?:" GROUP ":){1,6}:" GROUP "|(?:" GROUP   \
    ":){1,5}(?::" GROUP "){1,2}|(?:" GROUP ":){1,4}(?::" GROUP "){1,3}|(?:" GROUP                  \
    ":){1,3}(?::" GROUP "){1,4}|(?:" GROUP ":){1,2}(?::" GROUP "){1,5}|" GROUP ":(?::" GROUP       \
    "){1,6}|:(?::" GROUP "){1,7}|::)"
#define LABEL      "[A-Za-z0-9](?:-?[A-Za-z0-9]){0,30}"
#define LAST_LABEL "[A-Za-z](?:-?[A-Za-z0-9]){0,20}"
#define HOST       "(?:" LABEL "\\.){0,3}" LAST_LABEL
#define WORD       "[A-Za-z0-9_+-]{1,20}"
#define PCHAR      "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%" HEX "{2})"
#define NO_COLON   "(?:[A-Za-z0-9._~!$&'()*+,;=@-]|%" HEX "{2})"
#define PATH       "(?:/" PCHAR "*)*"
#define REST       "(?:\\?(?:" PCHAR "|[/?])*)?(?:#(?:" PCHAR "|[/?])*)?"
#define URI                                                                                        \
    "(?:https?://(?:" HOST "|" IPV4 ")(?::(?:[1-9]\\d{0,3}|[1-5]\\d{4}))?" PATH REST               \
    "|file:///" PCHAR "*" PATH "|urn:[a-z][a-z0-9]{1,20}:" PCHAR "+)"
// A URI for schemas with a maxLength: few states, since an automaton counts the characters. Of HTTP
// alone: clients write a maxLength for types that take no other scheme.
#define SHORT_HOST    "(?:[A-Za-z0-9](?:-?[A-Za-z0-9])*\\.)*[A-Za-z](?:-?[A-Za-z0-9])*"
#define SHORT_URI     "https?://(?:" SHORT_HOST "|" IPV4 ")(?::[1-9]\\d{0,3})?" PATH REST
#define URI_REFERENCE "(?:" URI "|(?:" NO_COLON "+)?" PATH REST ")"
#define POINTER       "(?:/(?:[^/~]|~[01])*)*"

const char *gi_schema_format(const char *name, bool is_bounded)
{
    // Names, pattern, pattern where the length is bounded if that is another.
    static const char *const formats[][3] = {
        {" date ", "^" DATE "$"},
        {" time ", "^" TIME "$"},
        {" date-time ", "^" DATE "T" TIME "$"},
        {" duration ",
         "^P(?:\\d{1,4}W|(?:" YEARS "|" MONTHS "|" DAYS ")(?:" CLOCK ")?|" CLOCK ")$"},
        {" uuid ", "^" HEX "{8}(?:-" HEX "{4}){3}-" HEX "{12}$"},
        {" email idn-email ",
         "^(?!.*\\.(?:arpa|invalid|local|localhost|onion|test)$)" WORD "(?:\\." WORD
         "){0,2}@(?:[a-z0-9](?:-?[a-z0-9]){0,20}\\.){1,3}[a-z]{2,10}$"},
        {" ipv4 ", "^" IPV4 "$"},
        {" ipv6 ", "^" IPV6 "$"},
        {" ipvanyaddress ", "^(?:" IPV4 "|" IPV6 ")$"},
        {" hostname idn-hostname ", "^" HOST "$"},
        {" uri iri url ", "^" URI "$", "^" SHORT_URI "$"},
        {" uri-reference iri-reference uri-template ", "^" URI_REFERENCE "$"},
        {" json-pointer ", "^" POINTER "$"},
        {" relative-json-pointer ", "^(?:0|[1-9]\\d{0,3})" POINTER "$"},
        {" regex ",
         "^\\^?(?:(?:[A-Za-z0-9_ ,:;/@#-]|\\\\[dws.^$*+?()|\\\\]|\\.|\\[(?:a-z|A-Z|0-9|_)+\\])"
         "[*+?]?)*\\$?$"},
    };
    char word[40];
    snprintf(word, sizeof(word), " %.30s ", name);
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (strstr(formats[i][0], word)) {
            return is_bounded && formats[i][2] ? formats[i][2] : formats[i][1];
        }
    }
    return NULL;
}
