import { expect, test } from "vitest";
import { startersIn } from "./starters";

test("each starter is there in both languages, with requests and without its key", () => {
  const [english, chinese] = [startersIn("en"), startersIn("zh")];
  expect(english.map(({ key }) => key)).toEqual(chinese.map(({ key }) => key));
  expect(english.length).toBeGreaterThan(3);
  for (const starter of [...english, ...chinese]) {
    expect(starter.content).toContain(starter.name);
    expect(starter.description.length).toBeGreaterThan(10);
    expect(starter.content).not.toContain("slug:");
    expect(starter.requests.filter(({ should_trigger }) => should_trigger).length).toBeGreaterThan(2);
  }
});
