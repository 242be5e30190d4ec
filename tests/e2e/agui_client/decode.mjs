// Decodes framed protobuf events on stdin with the stock decoder; writes them to stdout as JSON.
import { buffer } from "node:stream/consumers";
import { decode } from "@ag-ui/proto";

const bytes = await buffer(process.stdin);
const events = [];
for (let at = 0; at < bytes.length; ) {
  const end = at + 4 + bytes.readUInt32BE(at);
  events.push(decode(new Uint8Array(bytes.subarray(at + 4, end))));
  at = end;
}
process.stdout.write(JSON.stringify(events));
