/** Lists, page by page. */

export type Page<T> = {
  data: T[];
  has_more: boolean;
  /** Pass it as `cursor` to get the next page. */
  next_cursor: string | null;
};

/** A list, newest first. Iterate it with `for await` to get everything; pages are fetched as needed. */
export class Pages<T> implements AsyncIterable<T> {
  readonly #fetch: (cursor: string | undefined) => Promise<Page<T>>;

  constructor(fetch: (cursor: string | undefined) => Promise<Page<T>>) {
    this.#fetch = fetch;
  }

  /** The first page only. */
  first(): Promise<Page<T>> {
    return this.#fetch(undefined);
  }

  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    let cursor: string | undefined;
    do {
      const page = await this.#fetch(cursor);
      yield page;
      cursor = page.has_more ? (page.next_cursor ?? undefined) : undefined;
    } while (cursor !== undefined);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page.data;
  }
}
