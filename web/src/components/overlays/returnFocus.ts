/** Where the focus goes when a dialog closes. */
import { useRef } from "react";
import { type FocusPlace, placeOf, successorOf } from "./focusPlace";

/**
 * What had the focus when a dialog opened, for its `finalFocus`; of a menu's entry, the menu's button.
 *
 * If it is gone, what stands there now. The first field of a dialog takes the focus before the dialog itself could look.
 */
export function useReturnFocus(open: boolean): () => HTMLElement | true {
  const wasOpen = useRef(false);
  const opener = useRef<FocusPlace | null>(null);
  if (open && !wasOpen.current) {
    const button = buttonOf(document.activeElement);
    opener.current = button instanceof HTMLElement && button !== document.body ? placeOf(button) : null;
  }
  wasOpen.current = open;
  return () => {
    if (opener.current?.element.isConnected) return opener.current.element;
    return (opener.current && successorOf(opener.current)) ?? true;
  };
}

function buttonOf(element: Element | null): Element | null {
  const menu = element?.closest("[role=menu]");
  return menu ? document.getElementById(menu.getAttribute("aria-labelledby") ?? "") : element;
}
