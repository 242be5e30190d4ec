/** Examples of senders: an event signed as Standard Webhooks say, with what most machines have. */

export const EXAMPLE_LANGUAGES = ["python", "curl"] as const;
export type ExampleLanguage = (typeof EXAMPLE_LANGUAGES)[number];

const EVENT = '{"type": "player_join", "data": {"player": {"name": "Ada"}}}';

export function signingExample(language: ExampleLanguage, address: string): string {
  return language === "python" ? inPython(address) : inShell(address);
}

const inPython = (address: string) => `import base64, hashlib, hmac, time, urllib.request, uuid

address = "${address}"
secret = "whsec_..."
body = b'${EVENT}'

message_id, moment = f"msg_{uuid.uuid4().hex}", str(int(time.time()))
key = base64.b64decode(secret.removeprefix("whsec_"))
content = f"{message_id}.{moment}.".encode() + body
signature = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
headers = {
    "Content-Type": "application/json",
    "webhook-id": message_id,
    "webhook-timestamp": moment,
    "webhook-signature": f"v1,{signature}",
}
print(urllib.request.urlopen(urllib.request.Request(address, body, headers)).read().decode())
`;

const inShell = (address: string) => `address='${address}'
secret='whsec_...'
body='${EVENT}'

id="msg_$(openssl rand -hex 16)"
time=$(date +%s)
key=$(printf %s "\${secret#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \\n')
signature=$(printf %s "$id.$time.$body" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)
curl "$address" --data-raw "$body" -H 'Content-Type: application/json' \\
  -H "webhook-id: $id" -H "webhook-timestamp: $time" -H "webhook-signature: v1,$signature"
`;
