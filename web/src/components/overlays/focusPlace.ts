/** Where something with the focus stands in the page, and what has that place once it is gone. */

export interface FocusPlace {
  element: HTMLElement;
  /** What it stands in, from the inside to the outside, and the place of its branch there. */
  around: readonly { parent: HTMLElement; index: number }[];
}

// No text field: on a phone the keyboard would come up.
const OPERABLE = "a[href], button, summary, select, input:is([type=checkbox], [type=radio]), [role=switch]";

export function placeOf(element: HTMLElement): FocusPlace {
  const around: { parent: HTMLElement; index: number }[] = [];
  let branch: Element = element;
  while (branch.parentElement) {
    const parent = branch.parentElement;
    around.push({ parent, index: [...parent.children].indexOf(branch) });
    branch = parent;
  }
  return { element, around };
}

/**
 * What to operate next at a place whose element is gone: what moved up to it, or stands before it.
 *
 * Null where nothing is left around it, as in a dialog that closed; where another page opened, its content.
 */
export function successorOf({ around }: FocusPlace): HTMLElement | null {
  for (const { parent, index } of around) {
    if (!parent.isConnected) continue;
    if (parent === document.body) return null;
    // Another page opened: its content, not the link to it that stands before all else.
    const main = parent.matches("main") ? parent : parent.querySelector<HTMLElement>("main");
    if (main) return main;
    const children = [...parent.children];
    for (const child of [...children.slice(index), ...children.slice(0, index).reverse()]) {
      const found = firstOperable(child);
      if (found) return found;
    }
  }
  return null;
}

function firstOperable(root: Element): HTMLElement | null {
  return (
    [root, ...root.querySelectorAll(OPERABLE)].filter((each) => each instanceof HTMLElement).find(isOperable) ?? null
  );
}

function isOperable(element: HTMLElement): boolean {
  const isAble = element.matches(OPERABLE) && element.tabIndex >= 0 && !element.matches(":disabled");
  return isAble && element.checkVisibility({ visibilityProperty: true });
}
