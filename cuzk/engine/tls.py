"""The daemon's certificate, as both of its servers take it."""

from __future__ import annotations

import ssl

from cuzk.engine.config import SecurityConfig
from cuzk.errors import InputError

__all__ = ["server_context"]


def server_context(security: SecurityConfig | None) -> ssl.SSLContext | None:
    """What a server speaks TLS with; None where no certificate is configured.

    Raises:
        InputError: The files cannot be read, or do not belong together.
    """
    if security is None or not security.tls_certificate:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(security.tls_certificate, security.tls_key)
    except (OSError, ssl.SSLError) as error:
        raise InputError(
            f"{security.tls_certificate} and {security.tls_key} are no certificate and its key: {error}",
            remedy="set security.tls_certificate and tls_key to PEM files that belong together",
        ) from error
    return context
