/** Boxes of passages over a page; they say nothing that the list of passages doesn't. */
import { type RefObject, useEffect, useId, useRef } from "react";
import { boxesOn, type PassageBox } from "./boxes";
import styles from "./boxes.module.css";
import { revealKey, useMarks } from "./MarkedText";
import { reveal } from "./textSurface";

// So that the lines of a paragraph touch each other, in shares of the page.
const GROWTH = 0.25;
const MOST_GROWTH = 0.004;

interface Props {
  page: number;
  /** Whether the page's own words show where the passage stands. */
  isMarked: { selected: boolean; hovered: boolean };
}

export function PassageBoxes({ page, isMarked }: Props) {
  const { selected, hovered, quotedBoxes } = useMarks();
  const passage = isMarked.selected ? [] : boxesOn(selected?.boxes, page);
  const quote = isMarked.selected ? [] : boxesOn(quotedBoxes, page);
  const hover = isMarked.hovered || hovered === selected ? [] : boxesOn(hovered?.boxes, page);
  const first = useRef<SVGGElement>(null);
  useReveal(first, page, passage.length > 0);
  if (!passage.length && !hover.length) return null;
  return (
    <svg className={styles.boxes} viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true">
      <BoxGroup boxes={hover} className={styles.hover} />
      <g ref={quote.length ? undefined : first} data-boxes="passage">
        <BoxGroup boxes={passage} />
      </g>
      <g ref={quote.length ? first : undefined} data-boxes="quote">
        <BoxGroup boxes={quote} className={styles.quote} />
      </g>
    </svg>
  );
}

/** Overlapping boxes have one fill and one outline, with a light edge around it that shows on dark pictures. */
function BoxGroup({ boxes, className }: { boxes: readonly PassageBox[]; className?: string | undefined }) {
  const mask = useId();
  if (!boxes.length) return null;
  return (
    <g className={className}>
      <mask id={mask} maskUnits="userSpaceOnUse" x="-1" y="-1" width="3" height="3">
        <rect x="-1" y="-1" width="3" height="3" fill="white" />
        <Rectangles boxes={boxes} fill="black" />
      </mask>
      <g mask={`url(#${mask})`}>
        <Rectangles boxes={boxes} className={styles.edge} />
        <Rectangles boxes={boxes} className={styles.line} />
      </g>
      <Rectangles boxes={boxes} className={styles.fill} />
    </g>
  );
}

function Rectangles({
  boxes,
  ...rest
}: {
  boxes: readonly PassageBox[];
  className?: string | undefined;
  fill?: string;
}) {
  return (
    <g {...rest}>
      {boxes.map((box) => {
        const [across, along] = [growth(box.width), growth(box.height)];
        return (
          <rect
            key={`${box.char_start} ${box.left} ${box.top}`}
            x={box.left - across}
            y={box.top - along}
            width={box.width + 2 * across}
            height={box.height + 2 * along}
          />
        );
      })}
    </g>
  );
}

function growth(side: number): number {
  return Math.min(GROWTH * side, MOST_GROWTH);
}

function useReveal(first: RefObject<SVGGElement | null>, page: number, isShown: boolean): void {
  const { selected, quotedBoxes, startPage, revealed, visit } = useMarks();
  useEffect(() => {
    const begin = startPage ?? quotedBoxes[0]?.page ?? selected?.page;
    if (!isShown || !selected || !first.current || page !== begin) return;
    const key = revealKey(selected, visit);
    if (revealed.current !== key && reveal(first.current)) revealed.current = key;
  }, [first, page, isShown, selected, quotedBoxes, startPage, revealed, visit]);
}
