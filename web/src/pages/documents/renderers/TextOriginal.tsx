/** Plain text, source code and data as they are written. */
import { MarkedText } from "../MarkedText";
import type { RendererProps } from "./registry";
import styles from "./renderers.module.css";
import { useText } from "./useText";

const PROSE = new Set(["text/plain"]);

export function TextOriginal(props: RendererProps) {
  const text = useText(props);
  return (
    <MarkedText version={text} className={PROSE.has(props.document.media_type) ? styles.plain : styles.code}>
      {text}
    </MarkedText>
  );
}
