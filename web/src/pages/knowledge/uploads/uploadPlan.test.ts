import { describe, expect, it } from "vitest";
import { documentName, isHidden, type PickedFile, planBatches, textFileName } from "./uploadPlan";

function picked(path: string, size: number): PickedFile {
  return { path, file: { size, name: path } as File };
}

describe("documentName", () => {
  it("joins folders", () => expect(documentName("part/page.html")).toBe("part › page.html"));
  it("drops invisible characters", () => expect(documentName("a\u200bb\u0007.md")).toBe("ab.md"));
  it("gives names without an ending one", () => {
    expect(documentName("part/README")).toBe("part › README.txt");
    expect(documentName("README")).toBe("README");
    expect(documentName("v1.2/README")).toBe("v1.2 › README.txt");
  });
  it("shortens from the front", () => {
    const name = documentName(`${"长".repeat(200)}/end.md`);
    expect(new TextEncoder().encode(name).length).toBeLessThanOrEqual(250);
    expect(name.startsWith("…")).toBe(true);
    expect(name.endsWith(" › end.md")).toBe(true);
  });
});

describe("isHidden", () => {
  it("sees hidden folders", () => expect(isHidden("site/.git/config")).toBe(true));
  it("lets others pass", () => expect(isHidden("site/a.b/c.md")).toBe(false));
});

describe("planBatches", () => {
  it("puts small files together and large ones alone", () => {
    const files = [...Array(100)].map((_, index) => picked(`${index}.md`, 100));
    const plan = planBatches([...files, picked("big.pdf", 1e6), picked("x.ZIP", 10)], 4);
    expect(plan.map(({ kind, files: { length } }) => `${kind} ${length}`)).toEqual([
      "files 25",
      "files 25",
      "files 25",
      "files 1",
      "archive 1",
      "files 25",
    ]);
  });
  it("bounds the bytes of a group", () => {
    const plan = planBatches(
      [...Array(40)].map((_, index) => picked(`${index}`, 60_000)),
      1,
    );
    expect(Math.max(...plan.map(({ bytes }) => bytes))).toBeLessThanOrEqual(512 * 1024);
    expect(plan.reduce((sum, { files }) => sum + files.length, 0)).toBe(40);
  });
});

describe("textFileName", () => {
  it("takes the given name", () => expect(textFileName("notes.txt", "# A", "Note")).toBe("notes.txt"));
  it("gives Markdown its ending", () => expect(textFileName(" v1.2 of a/b ", "", "Note")).toBe("v1.2 of a b.md"));
  it("takes the first line", () => expect(textFileName("", "\n## 重启步骤。\n\nmore", "Note")).toBe("重启步骤.md"));
  it("has a name for what has no words", () => expect(textFileName("", "# \n", "Note")).toBe("Note.md"));
});
