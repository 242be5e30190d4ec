"""Sign-ins through a provider while they are under way: begun, come back, exchanged for tokens.

They lie in the database, because a person may come back to another API process, and nothing that
would let somebody else go on with one is readable there.
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
    """Where a person goes when they come back from the provider: one of the two, nowhere else.

    Args:
        path: of this server, for the browser that the sign-in was begun in.
        port: of the person's own machine, where a program waits (RFC 8252, section 7.3).
        challenge: hash of what that program proves itself by.
    """

    path: str = "/"
    port: int | None = None
    challenge: str | None = None


def check_return_path(path: str) -> str:
    """A path that leads nowhere but to this server."""
    # Browsers read a backslash as a slash and leave control characters out.
    is_plain = path.isprintable() and path.isascii() and not set(path) & set("\\ #")
    if not (is_plain and path.startswith("/") and not path.startswith("//")):
        raise InvalidRequest("return_to", "Use a path of this server such as /chat")
    if len(path) > LONGEST_PATH:
        raise InvalidRequest("return_to", f"A path has at most {LONGEST_PATH} characters")
    return path


async def begin_attempt(session: AsyncSession, destination: ReturnDestination) -> tuple[AuthRequest, str]:
    """Begin a sign-in, and forget those that nobody ended.

    Returns:
        What the provider is asked with, and the secret that only this browser gets.
    """
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
    """The sign-in that a person comes back to; nobody comes back to it again.

    Args:
        session: a writing session; its commit uses the sign-in up.
        state: from the address that the provider sent the person to.
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
    """A code that is exchanged for tokens once and soon, by who began the sign-in.

    Args:
        destination: where they go with the code.
        browser: the secret of their browser; a program proves itself by its own.
    """
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
    """The account that a code stands for; the code works no second time.

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
