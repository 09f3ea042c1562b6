/** One server-sent event. */
export type Message = { readonly event: string; readonly id: string; readonly data: string };

/**
 * Parses server-sent events from the chunks of a stream: EventSource cannot send a header with the
 * token.
 */
export class MessageReader {
  /**
   * Chunks of an incomplete message: joined only when it is complete, because a scene comes in very
   * many chunks.
   */
  #held: string[] = [];

  /**
   * Returns the messages that this chunk completes. Ignores comments, which are only heartbeats.
   */
  read(piece: string): readonly Message[] {
    if (piece === '') return [];
    const completes =
      piece.includes('\n\n') ||
      (piece.startsWith('\n') && (this.#held.at(-1) ?? '').endsWith('\n'));
    this.#held.push(piece);
    if (!completes) return [];
    const blocks = this.#held.join('').split('\n\n');
    this.#held = [blocks.pop() ?? ''];
    return blocks.flatMap(block => {
      const fields = new Map(
        block
          .split('\n')
          .map(text => [text.slice(0, text.indexOf(':')), text.slice(text.indexOf(':') + 2)]),
      );
      const data = fields.get('data');
      return data === undefined
        ? []
        : [{ event: fields.get('event') ?? 'message', id: fields.get('id') ?? '', data }];
    });
  }
}
