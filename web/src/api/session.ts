/** The signed-in account's tokens: kept in local storage, shared by all tabs, renewed under one lock. */

export interface Tokens {
  access_token: string;
  refresh_token: string;
  /** Milliseconds since the epoch. */
  expires_at: number;
  /** The id of the account, where it is known. */
  account?: string | undefined;
}

const KEY = "agentex.tokens";
const PREFIX = "agentex.";
/** What belongs to the browser and not to the account. */
const OF_THE_BROWSER = new Set([KEY, "agentex.language", "agentex.theme"]);
const RENEW_BEFORE_MS = 30_000;
const listeners = new Set<() => void>();

let cached = read();

function read(): Tokens | null {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "null") as Tokens | null;
  } catch {
    return null;
  }
}

function write(tokens: Tokens | null): void {
  if (tokens) localStorage.setItem(KEY, JSON.stringify(tokens));
  else localStorage.removeItem(KEY);
  adopt(tokens);
}

function adopt(tokens: Tokens | null): void {
  const isOther = cached?.account !== undefined && tokens !== null && tokens.account !== cached.account;
  cached = tokens;
  // Another tab signed in with another account: nothing of the first one may stay on this page.
  if (isOther) window.location.reload();
  for (const listener of listeners) listener();
}

// Another tab signed in or out, or renewed the tokens.
window.addEventListener("storage", (event) => {
  if (event.key === KEY || event.key === null) adopt(read());
});

export function isSignedIn(): boolean {
  return cached !== null;
}

export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

interface TokenPair {
  access_token: string;
  refresh_token: string;
  /** Seconds. */
  expires_in: number;
  /** Missing when the tokens of the same account are renewed. */
  user?: { id: string };
}

export function signIn(pair: TokenPair): void {
  const account = pair.user?.id ?? cached?.account;
  if (pair.user && localStorage.getItem(`${PREFIX}account`) !== pair.user.id) {
    forgetPersonal();
    localStorage.setItem(`${PREFIX}account`, pair.user.id);
  }
  write({
    account,
    access_token: pair.access_token,
    refresh_token: pair.refresh_token,
    expires_at: Date.now() + pair.expires_in * 1000,
  });
}

/** Remove drafts and choices, which the next account must not see. */
function forgetPersonal(): void {
  for (const key of Object.keys(localStorage)) {
    if (key.startsWith(PREFIX) && !OF_THE_BROWSER.has(key)) localStorage.removeItem(key);
  }
  sessionStorage.clear();
}

/** End the login here and on the server; the tab is signed out even if the server can't be reached. */
export async function signOut(): Promise<void> {
  const tokens = cached;
  forgetPersonal();
  if (!tokens) return;
  const logout = fetch("/api/v1/auth/logout", {
    method: "POST",
    // The page is left before the answer comes.
    keepalive: true,
    headers: { Authorization: `Bearer ${tokens.access_token}`, "Content-Type": "application/json" },
    body: JSON.stringify({ refresh_token: tokens.refresh_token }),
  }).catch(() => undefined);
  write(null);
  await logout;
}

/** An access token that is valid for some time, or null when nobody is signed in. */
export async function accessToken(): Promise<string | null> {
  if (!cached) return null;
  if (cached.expires_at - Date.now() > RENEW_BEFORE_MS) return cached.access_token;
  return renew(cached.access_token);
}

/**
 * Renew the tokens unless another tab has. A refresh token can be used once: two tabs that use the same one would end
 * the login.
 */
async function renew(old: string): Promise<string | null> {
  return alone(async () => {
    const tokens = read();
    if (!tokens) return null;
    if (tokens.access_token !== old) {
      adopt(tokens);
      return tokens.access_token;
    }
    const answer = await fetch("/api/v1/auth/refresh", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ refresh_token: tokens.refresh_token }),
    });
    if (answer.status === 401 || answer.status === 403) {
      write(null);
      return null;
    }
    // Anything else passes: the old token may still do.
    if (!answer.ok) return tokens.access_token;
    const { data } = await answer.json();
    signIn(data);
    return data.access_token as string;
  });
}

let lastRenewal: Promise<unknown> = Promise.resolve();

/** Run one renewal after the other: of all tabs, or of this one where the page came over plain HTTP, without locks. */
function alone<T>(act: () => Promise<T>): Promise<T> {
  if (navigator.locks) return navigator.locks.request("agentex.renew", act) as Promise<T>;
  const next = lastRenewal.then(act);
  lastRenewal = next.catch(() => undefined);
  return next;
}

/** `fetch` with the account's token; a token that the server no longer takes is renewed once. */
export async function authorizedFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const token = await accessToken();
  const request = new Request(input, init);
  const again = request.clone();
  const answer = await fetch(withToken(request, token));
  if (answer.status !== 401 || !token) return answer;
  const renewed = await renew(token);
  return renewed ? fetch(withToken(again, renewed)) : answer;
}

function withToken(request: Request, token: string | null): Request {
  if (token) request.headers.set("Authorization", `Bearer ${token}`);
  request.headers.set("Accept-Language", document.documentElement.lang);
  return request;
}
