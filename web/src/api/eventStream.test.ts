import { expect, test } from "vitest";
import { EventParser } from "./eventStream";

test("events are given when they are complete, however the text is cut", () => {
  const parser = new EventParser();
  expect(parser.feed('event: progress\ndata: {"do')).toEqual([]);
  expect(parser.feed('ne":1}\n')).toEqual([]);
  expect(parser.feed("\nevent: result\ndata: {}\n\n")).toEqual([
    { name: "progress", data: '{"done":1}' },
    { name: "result", data: "{}" },
  ]);
});

test("comments and empty blocks are no events", () => {
  expect(new EventParser().feed(": still there\n\n\n\n")).toEqual([]);
});
