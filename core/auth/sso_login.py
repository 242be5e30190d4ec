"""Sign-ins through a provider: begun, returned, exchanged for tokens.

They are stored in the database, because a person may return to another API process; only hashes
of their secrets are readable there.
"""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.models import OidcAttempt, OidcTicket, User
from core.db.types import utc_now
from core.errors.oidc import OidcCodeInvalid, OidcExpired, OidcStateInvalid
from core.errors.requests import InvalidRequest
from core.oidc.auth_request import AuthRequest
from core.security.one_time_tokens import digest, is_digest_of, new_secret

ATTEMPT_SECONDS = 600
TICKET_SECONDS = 60
LONGEST_PATH = 500


@dataclass(frozen=True)
class ReturnDestination:
    """Where the person goes after the provider: exactly one of ``path`` and ``port``.

    Args:
        path: of this server, for the browser in which the sign-in was begun.
        port: on the person's own machine, where a program waits (RFC 8252, section 7.3).
        challenge: hash of that program's secret.
    """

    path: str = "/"
    port: int | None = None
    challenge: str | None = None


def check_return_path(path: str) -> str:
    """Refuse a path that a browser might take for another server's address."""
    # Browsers read a backslash as a slash and drop control characters.
    is_plain = path.isprintable() and path.isascii() and not set(path) & set("\\ #")
    if not (is_plain and path.startswith("/") and not path.startswith("//")):
        raise InvalidRequest("return_to", "Use a path of this server such as /chat")
    if len(path) > LONGEST_PATH:
        raise InvalidRequest("return_to", f"A path has at most {LONGEST_PATH} characters")
    return path


async def begin_attempt(session: AsyncSession, destination: ReturnDestination) -> tuple[AuthRequest, str]:
    """Begin a sign-in and delete expired ones; returns the request to the provider and this browser's secret."""
    now = utc_now()
    for table in (OidcAttempt, OidcTicket):
        await session.exec(delete(table).where(col(table.expires_at) < now - timedelta(hours=1)))
    questions, browser = AuthRequest(new_secret(), new_secret(), new_secret()), new_secret()
    session.add(
        OidcAttempt(
            state_digest=digest(questions.state),
            browser_digest=digest(browser),
            nonce=questions.nonce,
            verifier=questions.verifier,
            path=destination.path,
            port=destination.port,
            challenge=destination.challenge,
            expires_at=now + timedelta(seconds=ATTEMPT_SECONDS),
        )
    )
    return questions, browser


async def redeem_attempt(session: AsyncSession, *, state: str, browser: str) -> tuple[AuthRequest, ReturnDestination]:
    """The sign-in that a person returns to; works once.

    Args:
        session: a writing session; its commit uses the sign-in up.
        state: from the provider's redirect.
        browser: the secret of the browser that came.
    """
    query = select(OidcAttempt).where(OidcAttempt.state_digest == digest(state))
    attempt = (await session.exec(query.with_for_update())).first()
    if attempt is None or not is_digest_of(attempt.browser_digest, browser):
        raise OidcStateInvalid
    if attempt.expires_at <= utc_now():
        raise OidcExpired
    await session.delete(attempt)
    destination = ReturnDestination(attempt.path, attempt.port, attempt.challenge)
    return AuthRequest(state, attempt.nonce, attempt.verifier), destination


def issue_ticket(session: AsyncSession, user: User, destination: ReturnDestination, *, browser: str) -> str:
    """A short-lived code that the holder of the browser's (or the program's own) secret exchanges once for tokens."""
    code = new_secret()
    session.add(
        OidcTicket(
            code_digest=digest(code),
            user_id=user.id,
            proof_digest=destination.challenge or digest(browser),
            expires_at=utc_now() + timedelta(seconds=TICKET_SECONDS),
        )
    )
    return code


async def redeem_ticket(session: AsyncSession, *, code: str, proof: str) -> str:
    """The account id that a code stands for; works once.

    Args:
        session: a writing session; its commit uses the code up.
        proof: the browser's secret, or the program's.
    """
    query = select(OidcTicket).where(OidcTicket.code_digest == digest(code))
    ticket = (await session.exec(query.with_for_update())).first()
    if ticket is None or ticket.expires_at <= utc_now():
        raise OidcCodeInvalid
    if not is_digest_of(ticket.proof_digest, proof):
        raise OidcCodeInvalid
    await session.delete(ticket)
    return ticket.user_id
