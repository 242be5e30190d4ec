/** Server-sent events of one answer, read as they come. */

export interface ServerEvent {
  name: string;
  data: string;
}

/** Takes text as it comes, in whatever pieces, and gives the events that are complete. */
export class EventParser {
  private rest = "";

  feed(text: string): ServerEvent[] {
    const blocks = (this.rest + text).replace(/\r\n/g, "\n").split("\n\n");
    this.rest = blocks.pop() ?? "";
    return blocks.map(readBlock).filter((event) => event !== null);
  }
}

function readBlock(block: string): ServerEvent | null {
  let name = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length ? { name, data: data.join("\n") } : null;
}

export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read())
      yield* parser.feed(decoder.decode(piece.value, { stream: true }));
  } finally {
    reader.releaseLock();
  }
}
