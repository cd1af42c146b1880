/* The key schedule against the vectors of RFC 5869 (HKDF) and RFC 8448 (TLS 1.3 traces). */
#include "cm.h"

#include <string.h>

#include <openssl/evp.h>

#include "aead.h"
#include "engines.h"
#include "context_state.h"
#include "keys.h"
#include "mem.h"
#include "record.h"
#include "tls_hex.h"
#include "tls_peer.h"

static void hkdf_agrees_with_rfc_5869(void **state)
{
    (void)state;
    static const struct {
        const char *ikm;
        const char *salt;
        const char *info;
        const char *prk;
        const char *okm;
    } cases[] = {
        {"0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "000102030405060708090a0b0c",
         "f0f1f2f3f4f5f6f7f8f9", "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5",
         "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"},
        {"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
         "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
         "404142434445464748494a4b4c4d4e4f",
         "606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f"
         "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f"
         "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf",
         "b0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecf"
         "d0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeef"
         "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
         "06a6b88c5853361a06104c9ceb35b45cef760014904671014a193f40c15fc244",
         "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"
         "59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71"
         "cc30c58179ec3e87c14c01d5c1f3434f1d87"},
        {"0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "", "",
         "19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04",
         "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"
         "9d201395faa4b61a96c8"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hex ikm = hex_read(cases[i].ikm);
        struct hex salt = hex_read(cases[i].salt);
        struct hex info = hex_read(cases[i].info);
        struct hex prk = hex_read(cases[i].prk);
        struct hex okm = hex_read(cases[i].okm);
        uint8_t digest[KEYS_HASH_MAX];
        uint8_t out[128];
        size_t salt_len = salt.len < 64 ? salt.len : 64;
        struct iovec part = {ikm.bytes, ikm.len};

        /* extract: HMAC with the salt as its key; one longer than a block is not for us */
        enum weir_err err = keys_hmac(EVP_sha256(), salt.bytes, salt_len, &part, 1, digest);
        assert_int_equal(err, WEIR_OK);
        if (salt_len == salt.len)
            assert_memory_equal(digest, prk.bytes, prk.len);

        assert_int_equal(
            keys_expand(EVP_sha256(), prk.bytes, prk.len, info.bytes, info.len, out, okm.len),
            WEIR_OK);
        assert_memory_equal(out, okm.bytes, okm.len);
    }
}

static void hkdf_refuses_more_than_255_digests(void **state)
{
    (void)state;
    static uint8_t out[255 * 32 + 1];
    const uint8_t prk[32] = {1};

    assert_int_equal(keys_expand(EVP_sha256(), prk, 32, NULL, 0, out, sizeof(out) - 1), WEIR_OK);
    assert_int_equal(keys_expand(EVP_sha256(), prk, 32, NULL, 0, out, sizeof(out)), WEIR_NOMEM);
}

/* RFC 8448 3: the simple 1-RTT handshake.  All its application records, by every engine. */
static const char server_secret[] =
    "a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643";
static const char client_secret[] =
    "9e40646ce79a7f9dc05af8889bce6552875afa0b06df0087f792ebb7c17504a5";
static const char server_data[] =
    "17030300432e937e11ef4ac740e538ad36005fc4a46932fc3225d05f82aa1b36e30efaf97d90e6dffc602dcb501a59"
    "a8fcc49c4bf2e5f0a21c0047c2abf332540dd032e167c2955d";
static const char client_data[] =
    "1703030043a23f7054b62c94d0affafe8228ba55cbefacea42f914aa66bcab3f2b9819a8a5b46b395bd54a9a20441e"
    "2b62974e1f5a6292a2977014bd1e3deae63aeebb21694915e4";
static const char server_close[] = "1703030013b58fd67166ebf599d24720cfbe7efa7a8864a9";
static const char client_close[] = "1703030013c9872760655666b74d7ff1153efd6db6d0b0e3";

static void check_record(struct record_keys *k, const struct keys_suite *suite,
                         const char *expected, enum content_type type, const uint8_t *text,
                         size_t len)
{
    struct hex want = hex_read(expected);
    uint8_t record[256];
    struct iovec pieces[3] = {{(void *)(uintptr_t)text, len / 2},
                              {(void *)(uintptr_t)(text + len / 2), len - len / 2}};
    assert_int_equal(record_seal(k, suite, type, pieces, 2, len, record), WEIR_OK);
    assert_int_equal(want.len, len + RECORD_OVERHEAD);
    assert_memory_equal(record, want.bytes, want.len);
    k->seq++;
}

static void check_side(const struct keys_suite *suite, struct mem *mem, const char *secret,
                       const char *iv, uint64_t first, const char *data, const char *close)
{
    uint8_t text[50];
    struct record_keys k;
    struct hex want = hex_read(iv);
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (uint8_t)i;
    assert_int_equal(record_keys_init(&k, suite, AEAD_SEAL, hex_read(secret).bytes, mem), WEIR_OK);
    assert_memory_equal(k.iv, want.bytes, sizeof(k.iv));
    k.seq = first;
    check_record(&k, suite, data, CONTENT_APPLICATION_DATA, text, sizeof(text));
    check_record(&k, suite, close, CONTENT_ALERT, (const uint8_t *)"\x01\x00", 2);
    record_keys_deinit(&k, suite);
}

static void records_agree_with_rfc_8448(void **state)
{
    (void)state;
    struct mem *mem;
    assert_int_equal(mem_new((size_t)16 * 1024 * 1024, &mem), WEIR_OK);
    for (enum tls_aead_choice choice = TLS_AEAD_AUTO; choice <= TLS_AEAD_OPENSSL; choice++) {
        if (engine_choose(choice) == NULL)
            continue;
        struct tls_ctx *ctx = peer_tls_ctx(choice);
        const struct keys_suite *suite = tls_ctx_suite(ctx, 0x1301);

        /* the server's first record under this key is a ticket */
        check_side(suite, mem, server_secret, "cf782b88dd83549aadf1e984", 1, server_data,
                   server_close);
        check_side(suite, mem, client_secret, "5b78923dee08579033e523d9", 0, client_data,
                   client_close);

        tls_ctx_free(ctx);
    }
    assert_int_equal(mem_live(mem), 0);
    mem_free(mem);
}

/* Attack T12. */
static void keys_are_wiped_when_they_are_dropped(void **state)
{
    (void)state;
    static const uint8_t zeros[sizeof(struct record_keys)];
    struct mem *mem;
    struct record_keys k;
    assert_int_equal(mem_new((size_t)16 * 1024 * 1024, &mem), WEIR_OK);
    struct tls_ctx *ctx = peer_tls_ctx(TLS_AEAD_AUTO);
    const struct keys_suite *suite = tls_ctx_suite(ctx, 0x1302);

    assert_int_equal(record_keys_init(&k, suite, AEAD_SEAL, hex_read(server_secret).bytes, mem),
                     WEIR_OK);
    record_keys_deinit(&k, suite);

    assert_memory_equal(&k, zeros, sizeof(k));
    tls_ctx_free(ctx);
    mem_free(mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hkdf_agrees_with_rfc_5869),
        cmocka_unit_test(hkdf_refuses_more_than_255_digests),
        cmocka_unit_test(records_agree_with_rfc_8448),
        cmocka_unit_test(keys_are_wiped_when_they_are_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
