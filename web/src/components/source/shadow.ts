/** Shadow roots: in one, the editor's styles are adopted; in the page they would be inline, which the policy forbids. */

export function shadowRootOf(host: HTMLElement): ShadowRoot {
  return host.shadowRoot ?? host.attachShadow({ mode: "open" });
}
