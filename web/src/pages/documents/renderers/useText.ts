/** The text of a file in the encoding that the server read it in. */
import { useEffect, useState } from "react";
import type { RendererProps } from "./registry";

/** Undefined until it is decoded; an encoding that the browser does not know is a failure. */
export function useText({ document, file, onFailure }: RendererProps): string | undefined {
  const [text, setText] = useState<string>();
  useEffect(() => {
    let isCurrent = true;
    decode(file, document.encoding)
      .then((decoded) => isCurrent && setText(decoded))
      .catch(() => isCurrent && onFailure());
    return () => {
      isCurrent = false;
    };
  }, [file, document.encoding, onFailure]);
  return text;
}

async function decode(file: Blob, encoding: string | null): Promise<string> {
  const label = (encoding ?? "utf-8").toLowerCase().replace("utf-8-sig", "utf-8").replaceAll("_", "-");
  const names = [label, label.replace("cp", "windows-"), label.replace("shift-jis", "shift_jis")];
  const bytes = await file.arrayBuffer();
  for (const name of names) {
    try {
      return new TextDecoder(name).decode(bytes).replaceAll("\r\n", "\n");
    } catch {
      // Not a name that the browser knows.
    }
  }
  throw new RangeError(label);
}
