"""A page walked by the keyboard: what can be operated there, and what the focus reaches and shows of it."""

from playwright.sync_api import Page

# React listens at the root of the page and keeps handlers as properties; others' are noted as they are added.
NOTE_LISTENERS = """
const clicks = /^(dbl)?click$|^(mouse|pointer)(down|up)$/;
const add = EventTarget.prototype.addEventListener;
EventTarget.prototype.addEventListener = function (type, listener, options) {
    // What listens before the element itself is a guard.
    const isGuard = options === true || options?.capture;
    if (clicks.test(type) && this instanceof Element && !isGuard) this.takesClicks = true;
    return add.call(this, type, listener, options);
};
"""
_COLLECT = """(chosenElsewhere) => {
    const roles = "button link tab checkbox radio switch slider spinbutton combobox textbox searchbox option treeitem";
    const acting = [
        "a[href]", "button", "input", "select", "textarea", "[contenteditable=true]", "[role^=menuitem]",
        "details > summary:first-of-type", ...roles.split(" ").map((role) => `[role=${role}]`),
    ].join();
    // What scrolls is reached as well.
    const able = `${acting}, [tabindex]:not([tabindex="-1"])`;
    const clicks = /^on((Double)?Click|(Mouse|Pointer)(Down|Up))$/;
    const inside = (root) => [...root.querySelectorAll("*")].flatMap((element) =>
        element.shadowRoot ? [element, ...inside(element.shadowRoot)] : [element]);
    const above = (element) => element.parentElement ?? element.getRootNode().host ?? null;
    const find = (element, test) => {
        for (let each = element; each; each = above(each)) if (test(each)) return each;
        return null;
    };
    const isShown = (element) => element.checkVisibility({ visibilityProperty: true });
    const isSwitchedOff = (element) =>
        element.matches(":disabled, [aria-disabled=true]") ||
        find(element, (each) => each.matches("[inert], [aria-hidden=true]"));
    const name = (element) => {
        const words = element.ariaLabel || element.labels?.[0]?.innerText || element.innerText || element.className;
        return `${element.getAttribute("role") ?? element.tagName.toLowerCase()} ${words}`.slice(0, 80);
    };
    const takesClicks = (element) => {
        const keys = Object.keys(element);
        if (element.takesClicks && !keys.some((each) => each.startsWith("_reactListening"))) return true;
        const key = keys.find((each) => each.startsWith("__reactProps$"));
        return key !== undefined && Object.keys(element[key]).some((each) => clicks.test(each));
    };
    const hasHand = (element) => getComputedStyle(element).cursor === "pointer";
    // What is drawn at an element and around it; of what stands around, the colour of a text says nothing.
    const look = (element) => {
        const drawn = [];
        for (let each = element; each && each !== document.body; each = above(each)) {
            for (const part of each === element ? [null, "::before", "::after"] : [null, "::after"]) {
                const style = getComputedStyle(each, part);
                const isOutlined = style.outlineStyle !== "none" && !/, 0\\)|transparent/.test(style.outlineColor);
                drawn.push(isOutlined && style.outline, style.boxShadow, style.backgroundColor, style.borderColor);
            }
        }
        return drawn.join(" ");
    };
    const settle = () => document.getAnimations().forEach((each) => each instanceof CSSTransition && each.finish());
    settle();
    const elements = inside(document.body);
    const operable = elements.filter((each) => each.matches(able) && isShown(each) && !isSwitchedOff(each));
    const walk = { order: [], unseen: new Set(), covered: new Set() };
    const before = new Map(operable.map((element) => [element, look(element)]));
    const isActing = (element) => element !== null && element !== undefined && element.matches(acting);
    const isOperated = (element) => find(element, (each) => isActing(each) || isActing(each.control));
    // Messages that come and go are held by a press, and take none.
    const clickable = elements.filter((each) => isShown(each) && !isOperated(each)
        && !each.matches(`[aria-live], ${chosenElsewhere}`)
        && (takesClicks(each) || (hasHand(each) && !hasHand(above(each)))));
    const isCovered = (element) => {
        const rect = [...element.getClientRects()].find(({ width, height }) => width && height);
        if (!rect) return true;
        const [left, right] = [Math.max(rect.left, 0), Math.min(rect.right, innerWidth)];
        const [top, bottom] = [Math.max(rect.top, 0), Math.min(rect.bottom, innerHeight)];
        if (right <= left || bottom <= top) return true;
        const hit = element.getRootNode().elementFromPoint((left + right) / 2, (top + bottom) / 2);
        return !hit || !(find(hit, (each) => each === element) || element.contains(hit));
    };
    // Where the focus is now; false where it has not moved.
    walk.look = () => {
        let element = document.activeElement;
        while (element.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
        const [hasMoved, isDate] = [element !== walk.last, element.type?.startsWith("date") ?? false];
        walk.last = element;
        if (element === document.body) return { hasMoved: true, place: -1 };
        const place = operable.indexOf(element);
        walk.order.push(place);
        settle();
        if (before.get(element) === look(element)) walk.unseen.add(name(element));
        if (isCovered(element)) walk.covered.add(name(element));
        // A date has several fields, none of which is an element of the page.
        return { hasMoved: hasMoved || isDate, place };
    };
    walk.groups = () => {
        const groups = new Map();
        for (const element of operable) {
            if (element.type !== "radio") continue;
            const key = `${element.form?.id} ${element.name}`;
            groups.set(key, [...(groups.get(key) ?? []), element]);
        }
        return [...groups.values()];
    };
    walk.rest = () => operable.filter((each, place) => !walk.order.includes(place)).map(name);
    walk.names = operable.map(name);
    window.walk = walk;
    return { count: operable.length, clickable: clickable.map(name) };
}"""


def faults_of_focus(page: Page, chosen_elsewhere: str = "none") -> dict[str, list[str]]:
    """Go once through the page by Tab, and by the arrows through groups that are one stop; give what was wrong.

    Args:
        chosen_elsewhere: a selector of what takes presses that only do what a button of the page does as well.

    Returns:
        By fault: what is *missed* by the keyboard; what is for the *mouse* alone; what looks the same with the focus as
        without (*unseen*) or has it outside of the window or under something else (*covered*); what keeps the focus
        (*trap*); and what gets it in another *order* than the page's. Faults that nothing has are not there.
    """
    page.evaluate("document.activeElement.blur()")
    page.evaluate("window.scrollTo(0, 0)")
    found = page.evaluate(_COLLECT, chosen_elsewhere)
    trap = _press_tab(page, most=3 * found["count"] + 20)
    order = _from_start(page.evaluate("walk.order.filter((place) => place >= 0)"))
    _press_arrows(page)
    faults = page.evaluate("({ unseen: [...walk.unseen], covered: [...walk.covered], missed: walk.rest() })")
    names = page.evaluate("walk.names")
    faults |= {"mouse": found["clickable"], "trap": trap}
    faults["order"] = [names[place] for place, right in zip(order, sorted(order), strict=True) if place != right]
    return {fault: things for fault, things in faults.items() if things}


def _press_tab(page: Page, *, most: int) -> list[str]:
    """Press Tab until the focus is where it was first; gives what keeps it."""
    first = None
    for _ in range(most):
        page.keyboard.press("Tab")
        state = page.evaluate("walk.look()")
        if not state["hasMoved"]:
            return page.evaluate("[walk.names[walk.order.at(-1)]]")
        if state["place"] < 0:
            continue
        if state["place"] == first:
            return []
        first = state["place"] if first is None else first
    return ["the page: the focus does not come back"]


def _press_arrows(page: Page) -> None:
    """Go once around each group of radio buttons, which is one stop of Tab."""
    for group in page.evaluate_handle("walk.groups()").get_properties().values():
        size = group.evaluate(
            "members => (members.find((each) => each.checked) ?? members[0]).focus() ?? members.length"
        )
        for _ in range(size):
            page.keyboard.press("ArrowDown")
            page.evaluate("walk.look()")


def _from_start(order: list[int]) -> list[int]:
    """The order from the beginning of the page, each place once."""
    stops = list(dict.fromkeys(order))
    start = stops.index(min(stops)) if stops else 0
    return stops[start:] + stops[:start]
