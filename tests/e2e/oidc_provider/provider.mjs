// A certified OpenID Connect provider on the port of the first argument; whoever types a known name
// is logged in. PUT /people/{subject} with claims as JSON makes somebody known.
import { createServer } from "node:http";
import { json } from "node:stream/consumers";

// It tells on stdout and stderr that this is no way to run it, which is so.
console.info = console.warn = () => {};

const { default: Provider } = await import("oidc-provider");

const port = Number(process.argv[2]);
const people = new Map();
const callback = /^http:\/\/127\.0\.0\.1:\d+\/api\/v1\/auth\/oidc\/callback$/;

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: "agentex",
      client_secret: "a-secret-of-the-tests",
      redirect_uris: ["http://127.0.0.1/api/v1/auth/oidc/callback"],
    },
  ],
  claims: {
    openid: ["sub"],
    email: ["email", "email_verified"],
    profile: ["preferred_username", "name", "groups"],
  },
  cookies: { keys: ["a key of the tests"] },
  pkce: { required: () => true },
  ttl: { AccessToken: 60, AuthorizationCode: 60, Grant: 600, IdToken: 60, Interaction: 600, Session: 600 },
  async findAccount(_, subject) {
    const claims = people.get(subject);
    return claims && { accountId: subject, claims: () => ({ sub: subject, ...claims }) };
  },
});
// Servers of the tests take whatever port is free.
provider.Client.prototype.redirectUriAllowed = (uri) => callback.test(uri);

const handle = provider.callback();
createServer(async (request, response) => {
  if (request.method === "PUT" && request.url.startsWith("/people/")) {
    people.set(decodeURIComponent(request.url.slice(8)), await json(request));
    response.end();
    return;
  }
  handle(request, response);
}).listen(port, "127.0.0.1");
