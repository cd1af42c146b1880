/* See engines.h. */
#include "engines.h"

static const struct engine engines[] = {
    [TLS_AEAD_IPSEC_MB] = {"ipsec-mb", aead_ipsec_mb},
    [TLS_AEAD_VAES] = {"vaes", aead_vaes},
    [TLS_AEAD_OPENSSL] = {"openssl", aead_openssl},
};

static bool is_there(enum tls_aead_choice choice)
{
    return engines[choice].find(AEAD_AES_128_GCM) != NULL;
}

static enum tls_aead_choice best(void)
{
    if (aead_ipsec_mb_is_wide())
        return TLS_AEAD_IPSEC_MB;
    if (is_there(TLS_AEAD_VAES))
        return TLS_AEAD_VAES;
    return is_there(TLS_AEAD_IPSEC_MB) ? TLS_AEAD_IPSEC_MB : TLS_AEAD_OPENSSL;
}

const struct engine *engine_choose(enum tls_aead_choice choice)
{
    if (choice == TLS_AEAD_AUTO)
        choice = best();
    return is_there(choice) ? &engines[choice] : NULL;
}

const struct aead *engine_aead(const struct engine *e, enum aead_alg alg)
{
    const struct aead *own = e->find(alg);
    return own != NULL ? own : aead_openssl(alg);
}
