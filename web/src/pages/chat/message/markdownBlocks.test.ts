import { describe, expect, it } from "vitest";
import { blocksOf, prepareFormulas } from "./markdownBlocks";

describe("blocksOf", () => {
  it("cuts at blank lines", () => {
    expect(blocksOf("one\n\ntwo\nlines\n\n\nthree").map((block) => block.trim())).toEqual([
      "one",
      "two\nlines",
      "three",
    ]);
  });

  it("keeps code whole, also while it is written", () => {
    expect(blocksOf("a\n\n```py\nx\n\ny\n```\n\nb")).toHaveLength(3);
    expect(blocksOf("a\n\n```py\nx\n\ny")).toHaveLength(2);
  });

  it("keeps a shorter fence inside a longer one", () => {
    expect(blocksOf("````md\n```\n\nx\n```\n````")).toHaveLength(1);
  });

  it("keeps lists and formulas whole", () => {
    expect(blocksOf("- a\n\n  more\n\n- b\n\nend")).toHaveLength(2);
    expect(blocksOf("$$\na\n\nb\n$$\n\nend")).toHaveLength(2);
  });

  it("gives the blocks before the last one unchanged while a text grows", () => {
    const text = "# Title\n\npara one\n\n- a\n- b\n\n```\ncode\n\nmore\n```\n\nlast words";
    for (let end = 1; end <= text.length; end++) {
      const blocks = blocksOf(text.slice(0, end))
        .slice(0, -1)
        .map((block) => block.trim());
      expect(
        blocksOf(text)
          .map((block) => block.trim())
          .slice(0, blocks.length),
      ).toEqual(blocks);
    }
  });
});

describe("prepareFormulas", () => {
  it("writes TeX brackets as dollars", () => {
    expect(prepareFormulas("so \\(x^2\\) is")).toBe("so $x^2$ is");
    expect(prepareFormulas("\\[ y \\]")).toContain("$$\ny\n$$");
  });

  it("lets sums of money be", () => {
    expect(prepareFormulas("from $5 to $10")).toBe("from \\$5 to \\$10");
    expect(prepareFormulas("$x$ costs $5")).toBe("$x$ costs \\$5");
  });

  it("lets variables of a shell be, and addresses as they are", () => {
    expect(prepareFormulas("send $KEY to http://host/$KB/documents or $HOME")).toBe(
      "send \\$KEY to http://host/$KB/documents or \\$HOME",
    );
  });

  it("leaves code and open formulas alone", () => {
    expect(prepareFormulas("`echo $HOME`")).toBe("`echo $HOME`");
    expect(prepareFormulas("$$\nx")).toBe("$$\nx");
  });
});
