// Draws the report from the JSON beside it. Text from the snapshot is inserted as text,
// never as markup.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);

  // ---- words

  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  const size = (bytes) => {
    let unit = 0;
    for (; bytes >= 1024 && unit < units.length - 1; unit++) bytes /= 1024;
    const digits = unit === 0 ? 0 : bytes >= 100 ? 0 : bytes >= 10 ? 1 : 2;
    return bytes.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }) + " " + units[unit];
  };
  const count = (n) => n.toLocaleString("en");
  const percent = (share) => Math.round(100 * share) + "\u00a0%";
  const of = (part, whole) => (whole > 0 ? part / whole : 0);
  const counted = (n, one, many) => count(n) + " " + (n === 1 ? one : many);
  const time = (micros) => {
    if (micros >= 120e6) return (micros / 60e6).toFixed(1) + " min";
    return micros >= 1e6 ? (micros / 1e6).toFixed(2) + " s" : (micros / 1e3).toFixed(1) + " ms";
  };

  // ---- elements

  const element = (tag, options, ...children) => {
    const e = document.createElement(tag);
    for (const [name, value] of Object.entries(options || {})) {
      if (name === "style") for (const [key, v] of Object.entries(value)) e.style.setProperty(key, v);
      else if (name === "on") for (const [event, f] of Object.entries(value)) e.addEventListener(event, f);
      else if (value !== undefined && value !== false) e.setAttribute(name, value);
    }
    e.append(...children.filter((c) => c !== undefined && c !== false && c !== ""));
    return e;
  };
  const cell = (text, kind) => element("td", { class: kind }, text);
  const number = (text) => cell(text, "number");
  const heads = (...names) =>
    element("thead", {}, element("tr", {}, ...names.map(([name, kind]) => element("th", { scope: "col", class: kind }, name))));
  const legend = (id, marks) =>
    byId(id).append(...marks.map(([name, variable]) => element("span", { style: { "--mark": "var(" + variable + ")" } }, name)));

  // A row of buttons, one of which is pressed.
  const switcher = (id, choices, chosen, choose) => {
    const buttons = choices.map(([value, label]) =>
      element("button", { type: "button", "aria-pressed": String(value === chosen), on: { click: () => press(value) } }, label));
    const press = (value) => {
      choices.forEach(([v], i) => buttons[i].setAttribute("aria-pressed", String(v === value)));
      choose(value);
    };
    byId(id).append(...buttons);
  };

  // ---- call stacks

  const where = (frame) => frame.name + " (" + frame.filename.split("/").slice(-2).join("/") + ":" + frame.line + ")";
  const ownFrame = (stack) => (stack < 0 ? "" : where(data.stacks.frames[data.stacks.own[stack]]));
  const stackList = (stack) => {
    if (stack < 0) return element("p", { class: "soft" }, "No call stack was recorded.");
    const own = data.stacks.own[stack];
    return element("ol", { class: "stack" }, ...data.stacks.stacks[stack].map((f) => {
      const frame = data.stacks.frames[f];
      return element("li", { class: f === own ? "own" : undefined }, frame.filename + ":" + frame.line + " " + frame.name);
    }));
  };

  // ---- canvases

  // Prepares a canvas that is as wide as its box, and redraws it when that changes, or
  // the colours do.
  const canvasOf = (box, draw) => {
    const canvas = box.querySelector("canvas");
    const view = { width: 0, height: 0, context: canvas.getContext("2d"), redraw: undefined };
    view.redraw = () => {
      view.width = box.clientWidth;
      if (!view.width) return;
      const style = getComputedStyle(document.documentElement);
      view.color = (name) => style.getPropertyValue(name).trim();
      view.font = style.fontFamily;
      view.height = draw.height(view.width);
      const scale = window.devicePixelRatio || 1;
      canvas.width = Math.round(view.width * scale);
      canvas.height = Math.round(view.height * scale);
      canvas.style.height = view.height + "px";
      view.context.setTransform(scale, 0, 0, scale, 0, 0);
      draw.paint(view);
    };
    let width = 0;
    new ResizeObserver(() => {
      if (box.clientWidth !== width) { width = box.clientWidth; view.redraw(); }
    }).observe(box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", view.redraw);
    return view;
  };

  const showTip = (box, x, y, lines) => {
    const tip = box.querySelector(".tip");
    tip.replaceChildren(...lines.filter(Boolean).map((line, i) => element("div", {}, i ? line : element("b", {}, line))));
    tip.hidden = false;
    tip.style.left = Math.max(0, Math.min(x + 14, box.clientWidth - tip.offsetWidth - 2)) + "px";
    tip.style.top = (y + 18 + tip.offsetHeight > box.clientHeight && y > tip.offsetHeight + 10 ? y - tip.offsetHeight - 10 : y + 18) + "px";
  };
  const hideTip = (box) => { box.querySelector(".tip").hidden = true; };

  // Makes a box a slider over positions 0 to last().
  const slider = (box, last, at, pick, extra) => {
    const go = (to) => pick(Math.max(0, Math.min(last(), to)), true);
    box.addEventListener("keydown", (event) => {
      const now = at();
      const steps = {
        ArrowLeft: () => now - 1, ArrowRight: () => now + 1, Home: () => 0, End: () => last(),
        PageUp: () => now - Math.ceil(last() / 20), PageDown: () => now + Math.ceil(last() / 20), ...extra,
      };
      const step = steps[event.key];
      if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      go(step());
    });
    box.addEventListener("focus", () => { if (box.matches(":focus-visible")) go(at()); });
    box.addEventListener("blur", () => hideTip(box));
    box.addEventListener("pointerleave", () => { if (document.activeElement !== box) hideTip(box); });
  };
  const describeSlider = (box, now, last, text) => {
    box.setAttribute("aria-valuemin", "0");
    box.setAttribute("aria-valuemax", String(last));
    box.setAttribute("aria-valuenow", String(now));
    box.setAttribute("aria-valuetext", text);
  };

  // ---- statistics

  const summary = data.summary;
  const statistic = (name, value, detail, kind) =>
    byId("statistics").append(element("div", {}, element("dt", {}, name), element("dd", { class: kind }, value, detail && element("small", {}, detail))));
  const hasHistory = summary.entries > 0;
  byId("source").textContent = data.source + (data.device ? ", device " + data.device : "");
  document.title = data.source + ": GPU memory report";
  statistic("Peak allocated", size(summary.peakAllocated));
  statistic("Peak reserved", size(summary.peakReserved), percent(1 - of(Math.min(summary.peakAllocated, summary.peakReserved), summary.peakReserved)) + " or more of it unallocated");
  if (hasHistory) {
    statistic("Requests", count(summary.requests), summary.durationUS ? "in " + time(summary.durationUS) : undefined);
    statistic("Out of memory", count(summary.ooms), undefined, summary.ooms ? "bad" : undefined);
    statistic("Segments freed", size(summary.reservedFreed), "of " + size(summary.reservedAllocated) + " allocated");
    statistic("History", summary.complete ? "complete" : "incomplete", summary.complete ? count(summary.entries) + " entries" : "its beginning is missing");
  }
  statistic("PYTORCH_ALLOC_CONF", summary.settings || "default", undefined, "text");
  byId("notes").append(...data.notes.map((note) => element("li", {}, note)));

  // ---- memory over time

  const drawTimeline = () => {
    const box = byId("timeline"), t = data.timeline, n = t.allocatedMax.length;
    if (!n) { byId("timeline-section").hidden = true; return; }
    const last = n - 1, top = Math.max(...t.reservedMax, 1);
    const timed = Boolean(t.timesUS && t.timesUS.length);
    let byTime = false, cursor = t.reservedMax.indexOf(Math.max(...t.reservedMax));
    const left = 72, right = 10, upper = 16, lower = 26;
    const x0 = (i) => (byTime ? (i < n ? t.timesUS[i] : summary.durationUS) / Math.max(1, summary.durationUS) : i / n);
    const place = (view, i) => left + x0(i) * (view.width - left - right);
    const level = (view, bytes) => upper + (1 - bytes / (top * 1.05)) * (view.height - upper - lower);

    const ticks = () => {
      let step = Math.pow(2, Math.floor(Math.log2(top / 4)));
      while (top / step > 6) step *= 2;
      const all = [];
      for (let bytes = 0; bytes <= top * 1.05; bytes += step) all.push(bytes);
      return all;
    };
    // The band between the minimum and the maximum of each bucket, or the area below the
    // maximum.
    const band = (view, low, high, ground) => {
      const g = view.context;
      g.beginPath();
      for (let i = 0; i < n; i++) { g.lineTo(place(view, i), level(view, high[i])); g.lineTo(place(view, i + 1), level(view, high[i])); }
      for (let i = n - 1; i >= 0; i--) {
        const y = level(view, ground ? 0 : low[i]);
        g.lineTo(place(view, i + 1), y); g.lineTo(place(view, i), y);
      }
      g.closePath();
    };
    const axes = (view) => {
      const g = view.context;
      g.font = "12px " + view.font;
      g.fillStyle = view.color("--soft");
      g.strokeStyle = view.color("--line");
      g.lineWidth = 1;
      g.textAlign = "right"; g.textBaseline = "middle";
      for (const bytes of ticks()) {
        const y = Math.round(level(view, bytes)) + 0.5;
        g.beginPath(); g.moveTo(left, y); g.lineTo(view.width - right, y); g.stroke();
        g.fillText(size(bytes), left - 8, y);
      }
      g.textBaseline = "alphabetic";
      // Steps of 1, 2 or 5 times a power of ten.
      const end = byTime ? summary.durationUS : summary.entries, wanted = end / (view.width < 600 ? 3 : 8);
      const power = Math.pow(10, Math.floor(Math.log10(Math.max(wanted, 1))));
      const step = power * [1, 2, 5, 10].find((k) => k * power >= wanted);
      for (let at = 0; at <= end; at += step) {
        const x = left + (at / end) * (view.width - left - right);
        if (x > view.width - 30) break;
        g.textAlign = at ? "center" : "left";
        g.fillText(byTime ? (at / 1e6).toLocaleString("en") + " s" : count(at), x, view.height - 6);
      }
    };
    const marks = (view) => {
      const g = view.context, most = Math.max(...t.segmentsFreed, 1), ground = view.height - lower;
      g.fillStyle = view.color("--freed");
      t.segmentsFreed.forEach((bytes, i) => {
        if (bytes) g.fillRect(place(view, i), ground - 4 - 14 * (bytes / most), Math.max(1.5, place(view, i + 1) - place(view, i)), 4 + 14 * (bytes / most));
      });
      g.fillStyle = view.color("--oom");
      t.ooms.forEach((times, i) => {
        if (!times) return;
        const x = place(view, i);
        g.fillRect(x - 0.75, upper, 1.5, ground - upper);
        g.beginPath(); g.moveTo(x - 6, 2); g.lineTo(x + 6, 2); g.lineTo(x, 13); g.fill();
      });
    };
    const paint = (view) => {
      const g = view.context;
      g.clearRect(0, 0, view.width, view.height);
      axes(view);
      for (const [low, high, line, area] of [[t.reservedMin, t.reservedMax, "--reserved", "--reserved-area"], [t.allocatedMin, t.allocatedMax, "--allocated", "--allocated-area"]]) {
        band(view, low, high, true); g.fillStyle = view.color(area); g.fill();
        band(view, low, high, false); g.fillStyle = g.strokeStyle = view.color(line); g.fill();
        g.lineWidth = 1.2; g.lineJoin = "round"; g.stroke();
      }
      marks(view);
      if (!box.querySelector(".tip").hidden) {
        g.strokeStyle = view.color("--select"); g.lineWidth = 1;
        const x = (place(view, cursor) + place(view, cursor + 1)) / 2;
        g.beginPath(); g.moveTo(x, upper); g.lineTo(x, view.height - lower); g.stroke();
      }
    };
    const range = (low, high) => (low === high ? size(high) : size(low) + " to " + size(high));
    const lines = (i) => {
      const first = i * t.entriesPerBucket, end = Math.min(first + t.entriesPerBucket, summary.entries) - 1;
      return [
        (first === end ? "Entry " + count(first) : "Entries " + count(first) + " to " + count(end)) + (timed ? ", " + time(t.timesUS[i]) : ""),
        "Allocated: " + range(t.allocatedMin[i], t.allocatedMax[i]),
        "Reserved: " + range(t.reservedMin[i], t.reservedMax[i]),
        t.segmentsFreed[i] && "Segments freed: " + size(t.segmentsFreed[i]),
        t.ooms[i] && counted(t.ooms[i], "request", "requests") + " out of memory",
      ].filter(Boolean);
    };
    const view = canvasOf(box, { height: (width) => Math.max(220, Math.min(360, width * 0.34)), paint });
    const pick = (i, keyboard) => {
      cursor = i;
      const text = lines(i);
      describeSlider(box, i, last, text.join("; "));
      showTip(box, place(view, i), keyboard ? upper + 20 : pointerY, text);
      paint(view);
    };
    let pointerY = 0;
    box.addEventListener("pointermove", (event) => {
      const bounds = box.getBoundingClientRect();
      const x = event.clientX - bounds.left;
      pointerY = event.clientY - bounds.top;
      let i = 0;
      for (let low = 0, high = last; low <= high;) {
        const middle = (low + high) >> 1;
        if (place(view, middle) <= x) { i = middle; low = middle + 1; } else high = middle - 1;
      }
      pick(i, false);
    });
    for (const event of ["pointerleave", "blur"]) box.addEventListener(event, () => paint(view));
    slider(box, () => last, () => cursor, pick);
    describeSlider(box, cursor, last, lines(cursor).join("; "));
    legend("timeline-legend", [["allocated", "--allocated"], ["reserved", "--reserved"], ["segments freed", "--freed"], ["out of memory", "--oom"]]);
    if (timed) switcher("timeline-axis", [[false, "by entry"], [true, "by time"]], false, (value) => { byTime = value; view.redraw(); });
  };

  // ---- segments and blocks

  // The indexes into a block; an inactive one has a size only.
  const [SIZE, REQUESTED, STATE, STACK, ENTRY, COUNT] = [0, 1, 2, 3, 4, 5];
  const states = ["inactive", "allocated", "pending free"], colors = ["--inactive", "--allocated", "--pending"];
  const stateOf = (block) => block[STATE] || 0;
  let moment = data.moments.find((m) => m.name === "oom") || data.moments[0];
  const momentListeners = [];

  const kindOf = (s) => [
    s.large ? "large" : "small", s.expandable && "expandable",
    s.pool && "pool " + s.pool, s.stream && "stream " + s.stream,
  ].filter(Boolean).join(", ");

  const drawMap = () => {
    const box = byId("map");
    const gap = 3, rowHeight = 20, rowGap = 4;
    let blocks = [], firstOf = [], cursor = 0, rows = [];
    const flatten = () => {
      blocks = []; firstOf = []; cursor = 0;
      moment.segments.forEach((s, i) => {
        firstOf.push(blocks.length);
        let offset = 0;
        for (const b of s.blocks) { blocks.push({ segment: i, offset, block: b }); offset += b[SIZE]; }
      });
    };
    // How many pixels a byte takes, so that all segments fill a sensible number of rows.
    const layOut = (width) => {
      const count = Math.max(3, Math.min(28, Math.ceil(moment.segments.length / 6)));
      const perByte = (width * count * 0.97) / Math.max(1, moment.reserved);
      rows = [];
      let x = 0, row = 0;
      for (const item of blocks) {
        if (item.offset === 0 && x > 0) x += Math.min(gap, perByte * moment.segments[item.segment].size);
        item.pieces = [];
        for (let rest = item.block[SIZE] * perByte; rest > 0;) {
          if (x >= width - 0.5) { x = 0; row++; }
          const part = Math.min(rest, width - x);
          item.pieces.push([x, row, part]);
          (rows[row] = rows[row] || []).push([x, part, item]);
          x += part; rest -= part;
          if (rest < 1e-6) break;
        }
      }
      return row + 1;
    };
    const paint = (view) => {
      const g = view.context;
      g.clearRect(0, 0, view.width, view.height);
      for (const { block, pieces } of blocks) {
        g.fillStyle = view.color(colors[stateOf(block)]);
        for (const [x, row, part] of pieces) {
          const y = row * (rowHeight + rowGap);
          g.fillRect(x, y, part > 2.5 ? part - 0.7 : part, rowHeight);
        }
      }
      if (selected) outline(view, selected);
    };
    let selected = null;
    const outline = (view, item) => {
      const g = view.context;
      g.strokeStyle = view.color("--select");
      g.lineWidth = 2;
      for (const [x, row, part] of item.pieces) {
        const wide = Math.max(part, 3);
        g.strokeRect(Math.min(x, view.width - wide) + 1, row * (rowHeight + rowGap) + 1, wide - 2, rowHeight - 2);
      }
    };
    const lines = (item) => {
      const s = moment.segments[item.segment], b = item.block;
      const single = b.length > 1 && !b[COUNT];
      return [
        size(b[SIZE]) + (b[COUNT] ? " in " + counted(b[COUNT], "block", "blocks") + " too small to show, partly " : ", ") + states[stateOf(b)],
        b[REQUESTED] > 0 && "requested: " + size(b[REQUESTED]) + " (" + count(b[REQUESTED]) + " bytes)",
        single && b[STACK] >= 0 && ownFrame(b[STACK]),
        single && b[ENTRY] >= 0 && "allocated at entry " + count(b[ENTRY]),
        single && b[ENTRY] < 0 && hasHistory && "allocated before the start of the history",
        "at " + count(item.offset) + " of " + s.address + ", a segment of " + size(s.size) + " (" + kindOf(s) + ")",
      ].filter(Boolean);
    };
    const view = canvasOf(box, { height: (width) => layOut(width) * (rowHeight + rowGap), paint });
    const pick = (i, keyboard) => {
      if (!blocks.length) return;
      cursor = i;
      selected = blocks[i];
      const text = lines(selected);
      describeSlider(box, i, blocks.length - 1, text.join("; "));
      const [x, row] = selected.pieces[0] || [0, 0];
      showTip(box, keyboard ? x : pointer.x, keyboard ? (row + 1) * (rowHeight + rowGap) : pointer.y, text);
      if (keyboard) detail(selected);
      paint(view);
    };
    const detail = (item) => {
      const out = byId("block");
      out.hidden = item.block.length !== 5;
      if (!out.hidden) out.replaceChildren(element("b", {}, lines(item)[0]), stackList(item.block[STACK]));
    };
    const pointer = { x: 0, y: 0 };
    const find = (x, y) => {
      const row = rows[Math.floor(y / (rowHeight + rowGap))] || [];
      return row.find(([from, part]) => x >= from && x < from + part);
    };
    box.addEventListener("pointermove", (event) => {
      const bounds = box.getBoundingClientRect();
      pointer.x = event.clientX - bounds.left; pointer.y = event.clientY - bounds.top;
      const hit = find(pointer.x, pointer.y);
      if (hit) pick(blocks.indexOf(hit[2]), false);
    });
    box.addEventListener("click", () => { if (selected) detail(selected); });
    const toSegment = (step) => () => {
      const segment = Math.max(0, Math.min(firstOf.length - 1, blocks[cursor].segment + step));
      return firstOf[segment];
    };
    slider(box, () => blocks.length - 1, () => cursor, pick, { ArrowUp: toSegment(-1), ArrowDown: toSegment(1) });
    const show = () => {
      flatten();
      selected = null;
      hideTip(box);
      byId("block").hidden = true;
      box.hidden = !blocks.length;
      if (blocks.length) describeSlider(box, 0, blocks.length - 1, lines(blocks[0]).join("; "));
      const left = moment.leftOut ? " " + counted(moment.leftOut, "smaller segment is", "smaller segments are") + " not drawn." : "";
      byId("moment-summary").textContent =
        (moment.entry >= 0 ? "After entry " + count(moment.entry) + (summary.durationUS ? " (" + time(moment.timeUS) + ")" : "") + ": " : "") +
        size(moment.allocated) + " allocated, of " + size(moment.reserved) + " reserved in " + counted(moment.segments.length, "segment", "segments") + "." +
        (moment.merged ? " Blocks too small to see are drawn together." : "") + left;
      view.redraw();
    };
    momentListeners.push(show);
    legend("map-legend", [["allocated", "--allocated"], ["pending free: still used by a stream", "--pending"], ["inactive", "--inactive"]]);
    if (data.moments.length > 1) {
      switcher("moments", data.moments.map((m) => [m, m.title]), moment, (m) => { moment = m; momentListeners.forEach((f) => f()); });
    }
    show();
  };

  // ---- segments

  const drawSegments = () => {
    const active = (s) => s.allocated + s.pendingFree;
    const orders = {
      largest: (s) => s.size,
      inactive: (s) => (active(s) > 0 ? s.size - active(s) : 0),
      cached: (s) => (active(s) > 0 ? 0 : s.size),
    };
    const maxRows = 10;
    let order = "inactive";
    const sites = (s) => {
      if (!s.sites.length) return element("span", { class: "good" }, "none: torch.cuda.empty_cache() frees the segment");
      const bytes = s.sites.reduce((sum, k) => sum + k.bytes, 0);
      const blocks = s.sites.reduce((sum, k) => sum + k.blocks, 0);
      const lead = (s.moreSites ? "at least " : "") + counted(blocks, "block", "blocks") + ", " + size(bytes) +
        (s.sites[0].stack >= 0 ? ", most from " + ownFrame(s.sites[0].stack) : "");
      return element("details", {}, element("summary", {}, lead),
        element("ol", { class: "sites" }, ...s.sites.map((k) => element("li", {},
          counted(k.blocks, "block", "blocks") + ", " + size(k.bytes) + ", " +
          (k.entry >= 0 ? "since entry " + count(k.entry) : hasHistory ? "since before the history" : "allocated"), stackList(k.stack)))),
        s.moreSites ? element("p", { class: "soft" }, "and from " + counted(s.moreSites, "other line", "other lines")) : undefined);
    };
    const row = (s) => element("tr", {},
      element("td", {}, element("code", {}, s.address), element("div", { class: "soft" }, kindOf(s))),
      number(size(s.size)),
      element("td", { class: "word" }, size(s.allocated) + " (" + percent(of(s.allocated, s.size)) + ")",
        element("span", { class: "meter", "aria-hidden": "true" },
          element("i", { style: { width: 100 * of(s.allocated, s.size) + "%" } }),
          element("i", { style: { width: 100 * of(s.pendingFree, s.size) + "%", "--mark": "var(--pending)" } }))),
      number(size(s.size - active(s))), number(size(s.largestFreeBlock)), element("td", {}, sites(s)));
    const show = () => {
      const weight = orders[order];
      const list = moment.segments.filter((s) => weight(s) > 0).sort((a, b) => weight(b) - weight(a)).slice(0, maxRows);
      const body = list.length ? list.map(row) : [element("tr", {}, element("td", { colspan: "6", class: "soft" }, "There is none."))];
      byId("segments").replaceChildren(
        heads(["Segment"], ["Size", "number"], ["Allocated"], ["Inactive", "number"], ["Largest free block", "number"], ["Active blocks"]),
        element("tbody", {}, ...body));
    };
    momentListeners.push(show);
    switcher("order", [["inactive", "most inactive memory"], ["largest", "largest"], ["cached", "can be freed"]], order, (o) => { order = o; show(); });
    show();
  };

  // ---- other settings

  const drawWhatIf = () => {
    const w = data.whatif, box = byId("whatif");
    if (!w) { byId("whatif-section").hidden = true; return; }
    box.append(element("p", { class: "advice" }, w.advice));
    if (w.export) {
      const status = element("span", { role: "status", class: "soft" });
      const copy = () => navigator.clipboard.writeText(w.export).then(() => { status.textContent = "copied"; }, () => { status.textContent = "cannot copy here: select the line"; });
      box.append(element("div", { class: "export" }, element("code", {}, w.export), element("button", { type: "button", on: { click: copy } }, "Copy"), status));
    }
    box.append(element("p", { class: "help" }, "The same requests under each of the settings, " + (w.limit ? "and a limit of " + size(w.limit) : "without a limit") + ". A ~ marks statistics that are not exact: they depend on what the snapshot does not record."));
    const most = Math.max(...w.predictions.map((r) => r.peakReserved[1]), 1), shown = 8;
    // Settings break behind a comma.
    const breakable = (text) => text.split(/(?<=,)/).flatMap((part) => [part, element("wbr")]);
    const about = (r, text) => (r.exact ? "" : "~") + text;
    const peak = (r) => {
      const [low, high] = r.peakReserved.map(size);
      return element("td", {}, about(r, low === high ? high : low + " to " + high),
        element("span", { class: "meter", "aria-hidden": "true" },
          element("i", { style: { width: 100 * of(r.peakReserved[0], most) + "%", "--mark": "var(--reserved)" } }),
          element("i", { class: "maybe", style: { width: 100 * of(r.peakReserved[1] - r.peakReserved[0], most) + "%", "--mark": "var(--reserved)" } })));
    };
    const rows = w.predictions.map((r, i) => element("tr", { class: r.recommended && !r.oomRequest ? "best" : undefined, hidden: i >= shown && !r.recorded && !r.recommended },
      element("td", { class: "code" }, ...breakable(r.settings || "(default)"), r.recorded && element("span", { class: "tag" }, "as recorded")),
      peak(r), number(size(r.peakAllocated)), number(percent(r.unallocated)), number(count(r.allocRetries)), number(count(r.deviceCalls)),
      element("td", { class: "word " + (r.oomRequest ? "bad" : "good") }, r.oomRequest ? "at request " + count(r.oomRequest) : "no")));
    box.append(element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of settings" }, element("table", {},
      heads(["Settings"], ["Peak reserved"], ["Peak allocated", "number"], ["Unallocated", "number"], ["Alloc retries", "number"], ["Device allocs+frees", "number"], ["Out of memory"]),
      element("tbody", {}, ...rows))));
    const rest = rows.filter((row) => row.hidden);
    if (rest.length) {
      const more = element("button", { type: "button", on: { click: () => { rest.forEach((row) => { row.hidden = false; }); more.remove(); } } },
        "Show " + counted(rest.length, "more", "more"));
      box.append(element("p", {}, more));
    }
  };

  // ---- sizes and requests that failed

  const drawSizes = () => {
    if (!data.sizes.length) { byId("sizes-section").hidden = true; return; }
    const most = (f) => Math.max(...data.sizes.map(f), 1);
    const byCount = most((b) => b.requests), byBytes = most((b) => b.peakRequestedBytes);
    const meter = (share, mark) => element("span", { class: "meter", "aria-hidden": "true" }, element("i", { style: { width: 100 * share + "%", "--mark": "var(" + mark + ")" } }));
    const name = (from) => (from === 512 ? "up to 1 KiB" : size(from) + " to " + size(2 * from)).replace(/\.0+ /g, " ");
    byId("sizes").append(
      heads(["Size"], ["Requests"], ["Allocated at the peak"]),
      element("tbody", {}, ...data.sizes.map((b) => element("tr", {},
        element("td", {}, name(b.from)),
        element("td", {}, count(b.requests) + ", " + size(b.requestedBytes), meter(b.requests / byCount, "--reserved")),
        element("td", {}, count(b.peakCount) + ", " + size(b.peakRequestedBytes), meter(b.peakRequestedBytes / byBytes, "--allocated"))))));
  };

  const drawOOMs = () => {
    if (!data.ooms.length) { byId("ooms-section").hidden = true; return; }
    byId("ooms").append(
      heads(["Entry", "number"], ["Time", "number"], ["Requested", "number"], ["Where"]),
      element("tbody", {}, ...data.ooms.map((f) => element("tr", {},
        number(count(f.entry)), number(summary.durationUS ? time(f.timeUS) : ""), number(size(f.requested)),
        element("td", {}, f.stack < 0 ? element("span", { class: "soft" }, "No call stack was recorded.") : element("details", {}, element("summary", {}, ownFrame(f.stack)), stackList(f.stack)))))));
    if (summary.ooms > data.ooms.length) byId("ooms").after(element("p", { class: "help" }, "and " + count(summary.ooms - data.ooms.length) + " more"));
  };

  drawTimeline();
  drawMap();
  drawSegments();
  drawWhatIf();
  drawSizes();
  drawOOMs();
})();
