import { describe, expect, it } from "vitest";
import { ApiError } from "./errors";
import { isWorthARetry, retryDelay } from "./retry";

const limited = (seconds: string | null) => new ApiError(429, {}, seconds);

describe("a query asks again", () => {
  it("when the service was silent or failed, twice", () => {
    const down = new ApiError(503, {});
    expect([0, 1, 2].map((failures) => isWorthARetry(failures, down))).toEqual([true, true, false]);
    expect([0, 1, 2, 9].map((failures) => retryDelay(failures, down))).toEqual([1000, 2000, 4000, 5000]);
  });

  it("after the time that a rate limit names", () => {
    expect(isWorthARetry(0, limited("2"))).toBe(true);
    expect(retryDelay(0, limited("2"))).toBe(2000);
  });

  it("not where that takes long, or where nothing would change", () => {
    expect(isWorthARetry(0, limited("6"))).toBe(false);
    expect(isWorthARetry(0, new ApiError(503, {}, "6"))).toBe(false);
    expect(isWorthARetry(0, new ApiError(503, {}, "2"))).toBe(true);
    expect(isWorthARetry(0, limited(null))).toBe(false);
    expect(isWorthARetry(0, limited("soon"))).toBe(false);
    expect(isWorthARetry(0, new ApiError(404, {}))).toBe(false);
    expect(isWorthARetry(0, new TypeError("not an answer"))).toBe(false);
  });
});
