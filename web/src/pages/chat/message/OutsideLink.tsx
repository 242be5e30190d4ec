/** A link out of the console, as strangers write them. */
import type { ComponentProps } from "react";

export function OutsideLink({ href, children }: Pick<ComponentProps<"a">, "href" | "children">) {
  if (!href || !/^(https?:|mailto:)/i.test(href)) return <span>{children}</span>;
  return (
    // What a link carries away is to be seen before.
    <a href={href} title={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}
