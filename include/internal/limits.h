/*
 * Every number that a peer can run into, with its unit and the reason for it.
 *
 * All clocks are monotonic and absolute for their phase: no frame by itself extends one.  A breach
 * ends the connection with GOAWAY(ENHANCE_YOUR_CALM) that is flushed first, unless another answer
 * is named.
 */
#ifndef INTERNAL_LIMITS_H
#define INTERNAL_LIMITS_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* ---- memory ---- */

/* bytes of address space per worker; committed as used */
#define LIMIT_WORKER_MEMORY ((size_t)1024 * 1024 * 1024)
/* large blocks kept back: below this a worker stops reading and accepting and only sends */
#define LIMIT_BLOCK_RESERVE 64
/* bytes a connection pulls from its protocol at once: what is staged can be neither reordered nor
 * taken back */
#define LIMIT_STAGED_OUTPUT ((size_t)256 * 1024)
/* the same for a peer that takes more than that within LIMIT_STAGED_MS: fewer and longer writes
 * cost a fifth less CPU on large bodies in cleartext, and 7 % over TLS, where 64 KiB would cost 15
 * % more */
#define LIMIT_STAGED_OUTPUT_FAST ((size_t)1024 * 1024)
#define LIMIT_STAGED_MS 20
/* iovec entries of one write; the kernel's own cap is 1024 (IOV_MAX) */
#define LIMIT_IOVECS 1024
/* bytes of a write from which it is worth to send the pages themselves instead of a copy */
#define LIMIT_ZERO_COPY_MIN ((size_t)32 * 1024)
/* bytes of the pool that a worker pins for such sends: what it has in use at a few hundred
 * downloads at once; a machine that swaps can take all else */
#define LIMIT_PINNED ((size_t)256 * 1024 * 1024)
/* bytes unsent in the socket above which the kernel takes no more: keeps the rest reorderable; for
 * fast peers it follows what may be staged */
#define LIMIT_NOTSENT_LOWAT (256 * 1024)

/* ---- connections ---- */

/* connections of a worker; also bounded by half of the descriptors it may open */
#define LIMIT_CONNECTIONS 16384
/* connections accepted in one turn of the loop, so that open ones are not starved */
#define LIMIT_ACCEPTS_PER_TURN 64
/* ms that accepting pauses after EMFILE and its like: doubled each time, up to the maximum */
#define LIMIT_ACCEPT_PAUSE_MS 50
#define LIMIT_ACCEPT_PAUSE_MAX_MS 500
/* bytes read from one connection in one turn */
#define LIMIT_READ_PER_TURN ((size_t)64 * 1024)
/* pending connections of a listener */
#define LIMIT_BACKLOG 4096

/* ---- disks ---- */

/* threads of a worker that wait for disks: so many files on a disk that does not answer hold up
 * others that are not in memory either, and never those that are */
#define LIMIT_HELPERS 8
/* how many of these are kept for questions about names, which a disk may answer although it reads
 * nothing: files in memory are asked about once in LIMIT_CACHE_FRESH_MS */
#define LIMIT_HELPERS_QUICK 2
/* ms from an end without delay, or of the drain, for which fetches under way are waited for; then
 * their threads are left to the end of the process */
#define LIMIT_FETCH_END_MS 1000

/* ---- clocks ---- */

/* ms from accept to the end of the TLS handshake; on breach: close */
#define LIMIT_HANDSHAKE_MS 10000
/* handshakes of TLS worked on in one turn of the loop, each some 0.3 ms of CPU */
#define LIMIT_HANDSHAKES_PER_TURN 16
/* ms from accept to the client's preface and first SETTINGS; on breach: close */
#define LIMIT_PREFACE_MS 10000
/* ms until our SETTINGS are acknowledged; on breach: GOAWAY(SETTINGS_TIMEOUT) (RFC 9113 6.5.3) */
#define LIMIT_SETTINGS_ACK_MS 10000
/* ms from the first byte of a field section to its last */
#define LIMIT_HEADER_MS 10000
/* ms without a byte of output acknowledged by the peer while some is due; on breach: abort */
#define LIMIT_WRITE_STALL_MS 20000
/* ms from when output is due until it is first looked at how the peer takes it */
#define LIMIT_PACE_LOOK_MS 5000
/* bytes in so many ms that a client has to take of a response: some 240 bytes a second, which is
 * less than a modem's pace and more than a drip to hold us by.  Counted as acknowledged by its TCP;
 * on breach: abort.  Counted as allowed by its windows of HTTP/2; on breach: RST_STREAM(CANCEL) */
#define LIMIT_PROGRESS_BYTES 14400
#define LIMIT_PROGRESS_MS 60000
/* ms without an open stream; longer than the 60 s of common proxy pools; on breach: NO_ERROR */
#define LIMIT_IDLE_MS 75000
/* ms between the two GOAWAYs if the PING in between is not acknowledged */
#define LIMIT_GOAWAY_STEP_MS 1000
/* ms from the start of a drain to the end of every connection */
#define LIMIT_DRAIN_MS 30000
/* ms and bytes that are still read, and thrown away, after the last byte was sent, so that the
 * peer's data in flight does not reset the connection before it has read the answer */
#define LIMIT_LINGER_MS 2000
#define LIMIT_LINGER_BYTES ((size_t)64 * 1024)

/* ---- field sections (RFC 9113 6.5.2 counts name + value + 32) ---- */

#define LIMIT_FIELD_OVERHEAD 32
/* fields, each cookie crumb counted; on breach: 431 */
#define LIMIT_FIELDS 100
/* fields at which decoding stops being worth it */
#define LIMIT_FIELDS_HARD 200
/* bytes, announced as SETTINGS_MAX_HEADER_LIST_SIZE; on breach: 431 */
#define LIMIT_FIELD_BYTES ((size_t)32 * 1024)
#define LIMIT_FIELD_BYTES_HARD ((size_t)64 * 1024)
/* bytes of :path or request-target; on breach: 414 */
#define LIMIT_PATH_LEN ((size_t)8 * 1024)
/* CONTINUATION frames of one field section: 5 x 16 KiB hold more than the hard limit */
#define LIMIT_CONTINUATIONS 4
/* bytes of the HPACK tables, ours and the peer's (RFC 7541 4.2) */
#define LIMIT_HPACK_TABLE 4096

/* ---- streams ---- */

/* bytes of a DATA frame that we send: SETTINGS_MAX_FRAME_SIZE may allow more, nghttp2 makes none */
#define LIMIT_DATA_FRAME 16384

/* bytes of small bodies that leave with their HEADERS, whose turn it is at once: a quarter of what
 * may be staged, and so be past reordering, anyway; what goes beyond is sent by its priority */
#define LIMIT_JOINED_BODIES ((size_t)64 * 1024)

/* streams, counted until handler and buffers are gone; on breach: REFUSED_STREAM */
#define LIMIT_STREAMS 100
/* bytes of a request body that may be on their way: stream and connection window */
#define LIMIT_STREAM_WINDOW (64 * 1024)
#define LIMIT_CONNECTION_WINDOW (1024 * 1024)

/* ---- budgets: a bucket of so many, refilled by so many a second ---- */

/* RST_STREAM by the peer; one comes back with each request answered in full */
#define LIMIT_PEER_RESETS 200
#define LIMIT_PEER_RESETS_PER_S 20
/* RST_STREAM that the peer made us send, malformed requests: honest clients cause none */
#define LIMIT_OWN_RESETS 20
#define LIMIT_OWN_RESETS_PER_S 1
/* streams refused: a client that has seen our SETTINGS has few, since a stream counts for a moment
 * longer than the client knows */
#define LIMIT_REFUSED 100
#define LIMIT_REFUSED_PER_S 10
/* PING, SETTINGS, PRIORITY, PRIORITY_UPDATE, unknown types, useless WINDOW_UPDATE, DATA that may be
 * nothing but padding */
#define LIMIT_CONTROL_FRAMES 1000
#define LIMIT_CONTROL_FRAMES_PER_S 100
/* frames without payload that end nothing, in a row */
#define LIMIT_EMPTY_FRAMES 10
/* WINDOW_UPDATE frames: this many, and per stream and DATA frame sent so many more */
#define LIMIT_WINDOW_UPDATES 5
#define LIMIT_WINDOW_UPDATES_PER_STREAM 2
#define LIMIT_WINDOW_UPDATES_PER_DATA 20

/* ---- file cache of a worker ---- */

/* files that are mapped and so kept open; also bounded by a quarter of the process's descriptors */
#define LIMIT_CACHED_FILES 1024
/* bytes of memory for files that are small enough to be copied, all that belongs to them included:
 * some 60,000 of 1 KiB.  Of 100,000 such files asked for in no order, that serves more than half
 * from here, at some two thirds of what it costs with half the memory */
#define LIMIT_CACHED_BYTES ((size_t)128 * 1024 * 1024)
/* bytes that are kept mapped, in windows of 4 MiB: address space, which costs a page table of 4 MiB
 * at most, and areas of the process, of which Linux allows 65530 */
#define LIMIT_MAPPED_BYTES ((size_t)2 * 1024 * 1024 * 1024)
/* ms for which pages of a map that were in memory are taken to be there still; asking costs 1 to
 * 20 us per 512 KiB */
#define LIMIT_RESIDENT_MS 1000
/* bytes up to which a file is a copy in memory; a larger one is mapped.  Measured, server CPU per
 * request as a map against a copy: 1.9 at 1 KiB, 1.4 at 4, 1.15 at 10, 1.2 at 16 and 32, 1.05 at
 * 64; above 16 KiB a copy gains less than the memory is worth, which the page cache has used
 * already */
#define LIMIT_SNAPSHOT_LEN ((size_t)16 * 1024)
/* parts of large files that were asked for twice and that a worker keeps as copies, and the bytes
 * of one at the most: 4 MiB in all.  What holds for whole files holds for parts: see
 * LIMIT_SNAPSHOT_LEN */
#define LIMIT_PIECES 256
#define LIMIT_PIECE_LEN LIMIT_SNAPSHOT_LEN
/* bytes of originals that were made from compressed siblings: of one, which also bounds what a file
 * that is made to grow can do; of those that are kept; and of these with those that are being sent,
 * on breach: 503 */
#define LIMIT_DECODED_LEN ((uint64_t)64 * 1024 * 1024)
#define LIMIT_DECODED_KEPT ((size_t)64 * 1024 * 1024)
#define LIMIT_DECODED_BYTES ((uint64_t)256 * 1024 * 1024)
/* bytes that are read at once to make an entity-tag of a file's content: some 10 ms in memory, for
 * which its first response waits; of a larger file it goes without a tag */
#define LIMIT_TAG_PIECE ((uint64_t)8 * 1024 * 1024)
/* directory lists that are made at once: of a directory with a million names each may take 40 MiB
 * and a second of another thread's */
#define LIMIT_LISTINGS 2
/* different lists that are being made or waited for; on breach: 503 */
#define LIMIT_LISTINGS_QUEUED 200
/* ms for which a cached file is taken to be what is on disk, where nobody tells of changes */
#define LIMIT_CACHE_FRESH_MS 1000
/* the same where the kernel tells of them (inotify), for what it does not tell: stores into shared
 * maps, and what is mounted over a directory */
#define LIMIT_CACHE_WATCHED_MS 10000
/* directories that are watched for changes: some 1 KiB of memory each here, and of the kernel's, of
 * which fs.inotify.max_user_watches allows some thousands at least */
#define LIMIT_WATCHED_DIRS 1024

/* ---- HTTP/1.1 ---- */

/* bytes of a head, request line to empty line; it is buffered whole; on breach: 431 */
#define LIMIT_HEAD_BYTES ((size_t)32 * 1024)
/* bytes of one field line, name to value; on breach: 431 */
#define LIMIT_FIELD_LINE ((size_t)8 * 1024)
/* bytes of a method; the longest registered one has 17 (RFC 9110 16.1); on breach: 501 */
#define LIMIT_METHOD_LEN ((size_t)32)
/* heads of responses that a worker keeps ready-made, of some 300 bytes each */
#define LIMIT_READY_HEADS 1024
/* requests of a connection that wait for their response; on breach: input is left alone */
#define LIMIT_PIPELINED 16
/* bytes that came although the queue is full; a connection that heeds wants_input() has at most
 * one turn's worth; on breach: what is not parsed yet is dropped and the connection ends */
#define LIMIT_HELD_INPUT ((size_t)128 * 1024)
/* bytes of a request body; on breach: 413 */
#define LIMIT_BODY_BYTES ((uint64_t)1024 * 1024)
/* bytes/s at which a body has to arrive, on average and after the grace; on breach: 408 */
#define LIMIT_BODY_RATE 240
#define LIMIT_BODY_GRACE_MS 5000
/* ms from a head to the last byte of its body; on breach: 408 */
#define LIMIT_BODY_MS 300000
/* hex digits of a chunk size: more would need 64 bits; on breach: 400 */
#define LIMIT_CHUNK_DIGITS 15
/* bytes of chunk extensions, which nobody uses: of a chunk, of a body; on breach: 400 */
#define LIMIT_CHUNK_EXT 256
#define LIMIT_CHUNK_EXT_TOTAL ((size_t)16 * 1024)
/* bytes that are framing: this many, if they are more than 4/5 of all; on breach: 400 */
#define LIMIT_CHUNK_OVERHEAD ((size_t)100 * 1024)
/* bytes of a trailer section; on breach: 431 */
#define LIMIT_TRAILER_BYTES ((size_t)8 * 1024)

/* ---- TLS; what breaks one of these is told by an alert (RFC 8446 6) ---- */

/* bytes before the client's Finished: a post-quantum hello takes 2 KiB; on breach: close */
#define LIMIT_HANDSHAKE_BYTES ((size_t)32 * 1024)
/* KeyUpdates, empty records and user_canceled alerts without application data in between; on
 * breach: unexpected_message */
#define LIMIT_KEY_UPDATES 32
#define LIMIT_EMPTY_RECORDS 32
#define LIMIT_WARNINGS 4
/* records that we seal under one key: AES-GCM bears 2^24.5 full ones (RFC 8446 5.5), and the last
 * few are kept for the KeyUpdate and an alert; then the key is changed */
#define LIMIT_KEY_RECORDS ((UINT64_C(1) << 24) - 8)

static_assert(LIMIT_FIELDS < LIMIT_FIELDS_HARD, "431 comes before GOAWAY");
static_assert(LIMIT_FIELD_BYTES < LIMIT_FIELD_BYTES_HARD, "431 comes before GOAWAY");
static_assert((LIMIT_CONTINUATIONS + 1) * (size_t)16384 > LIMIT_FIELD_BYTES_HARD,
              "a field section of the hard limit fits into the frames allowed");
static_assert(LIMIT_PATH_LEN < LIMIT_HEAD_BYTES && LIMIT_FIELD_LINE < LIMIT_HEAD_BYTES,
              "414 and the limit of a line can be reached");

#endif
