/*
 * Alerts (RFC 8446 6), and the content types of records (RFC 8446 5.1).
 */
#ifndef TLS_ALERT_H
#define TLS_ALERT_H

enum content_type {
    CONTENT_CHANGE_CIPHER_SPEC = 20,
    CONTENT_ALERT = 21,
    CONTENT_HANDSHAKE = 22,
    CONTENT_APPLICATION_DATA = 23,
};

enum alert_level { ALERT_LEVEL_WARNING = 1, ALERT_LEVEL_FATAL = 2 };

/* close_notify is 0, so that "no alert" needs a value of its own: the last one is never sent. */
enum alert {
    ALERT_CLOSE_NOTIFY = 0,
    ALERT_UNEXPECTED_MESSAGE = 10,
    ALERT_BAD_RECORD_MAC = 20,
    ALERT_RECORD_OVERFLOW = 22,
    ALERT_ILLEGAL_PARAMETER = 47,
    ALERT_DECODE_ERROR = 50,
    ALERT_PROTOCOL_VERSION = 70,
    ALERT_INTERNAL_ERROR = 80,
    ALERT_USER_CANCELED = 90,
    ALERT_NONE = 255,
};

#endif
