/** A picture. */
import { useEffect, useState } from "react";
import { MarkedText } from "../MarkedText";
import type { RendererProps } from "./registry";
import styles from "./renderers.module.css";

export function ImageOriginal({ document, file, onFailure }: RendererProps) {
  const [url, setUrl] = useState<string>();
  const [loaded, setLoaded] = useState<string>();
  useEffect(() => {
    const address = URL.createObjectURL(file);
    setUrl(address);
    return () => URL.revokeObjectURL(address);
  }, [file]);
  return (
    <div className={styles.image}>
      {url && (
        <MarkedText version={url} page={1} hasBoxes={loaded === url} className={styles.picture}>
          <img src={url} alt={document.name} onLoad={() => setLoaded(url)} onError={onFailure} />
        </MarkedText>
      )}
    </div>
  );
}
