import { expect, test } from "vitest";
import { readJson, shownValue, writeJson } from "./json";

const LONG = '{"order":1234567890123456789,"lines":[{"id":-9007199254740993,"price":12.5}],"ok":true,"note":"Table 7"}';

test("long integers keep their digits, alone and nested", () => {
  expect(writeJson(readJson(LONG))).toBe(LONG);
  expect(shownValue((readJson(LONG) as { order: unknown }).order)).toBe("1234567890123456789");
  expect(shownValue(readJson("1234567890123456789"))).toBe("1234567890123456789");
});

test("other numbers are numbers", () => {
  expect(readJson('{"seconds":1.25,"bytes":9007199254740991}')).toEqual({
    seconds: 1.25,
    bytes: Number.MAX_SAFE_INTEGER,
  });
  expect(readJson('{"id":1234567890123456789,"seconds":1.25}')).toMatchObject({ seconds: 1.25 });
});

test("values are shown as JSON, and text as it is", () => {
  expect(shownValue("Table 7")).toBe("Table 7");
  expect(shownValue({ seats: [1, 2], outside: null })).toBe('{"seats":[1,2],"outside":null}');
  expect(shownValue(undefined)).toBe("null");
});
