/** A picture. */
import { useEffect, useState } from "react";
import type { RendererProps } from "./registry";
import styles from "./renderers.module.css";

export function ImageOriginal({ document, file, onFailure }: RendererProps) {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const address = URL.createObjectURL(file);
    setUrl(address);
    return () => URL.revokeObjectURL(address);
  }, [file]);
  return <div className={styles.image}>{url && <img src={url} alt={document.name} onError={onFailure} />}</div>;
}
