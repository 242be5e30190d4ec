import { expect, it } from "vitest";
import { pathsOf } from "./eventPaths";

it("names every leaf of an event by its path", () => {
  const data = { player: { name: "x", "last name": "y" }, items: [{ id: 3 }], none: [], at: null };
  expect(pathsOf(data)).toEqual(["player.name", 'player["last name"]', "items[0].id", "at"]);
});
