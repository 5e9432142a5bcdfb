// Blocks that wait for each other's messages, as they should be, and with a fault planted in them.
#include <fmt/format.h>

#include "tests/catch.h"
#include "tests/cuda_on_cpu/planted.h"

using namespace sinter;
using namespace sinter::testing::cuda_on_cpu;

namespace {

/// Four blocks, of which two share a row each. Each sends the number of its piece, and stores for its row the
/// first number times 10 and the second.
struct Parts {
  std::string ticket = "const int piece = (int)take_ticket(counters + 15, 4);";
  std::string send = "if (t == 0) send(words + piece, halves);";
  std::string receive = "if (t < 32)\n receive(words + u * 2 + t % 2, halves);";
  std::string clear = "if (t == 0) clear_received(words + u * 2, 2, counters + 8 + u, 2);";
};

constexpr int threads = 64;
const Shape two_at_once{.n = 4 * threads, .blocks = 4, .threads = threads, .together = 2};

std::string body(const Parts& parts) {
  return fmt::format(
      "uint64* words = (uint64*)counters; __shared__ f32 got[2];\n{}\nconst int u = piece / 2;\n"
      "uint32 halves[1]; to_halves((f32)piece, halves);\n{}\n{}\n"
      "if (t < 2) from_halves(halves, got[t]);\nsync_block();\n{}\n"
      "out0[piece * 64 + t] = got[0] * 10 + got[1];",
      parts.ticket, parts.send, parts.receive, parts.clear);
}

Found found(const Parts& parts, const Shape& shape = two_at_once) {
  return found_in(body(parts), shape);
}

}  // namespace

TEST_CASE("blocks that share a row get each other's messages") {
  for (int together : {2, 4}) {
    Shape shape = two_at_once;
    shape.together = together;
    const Planted planted(body({}), shape);
    run_launch(planted.launch());
    for (int i = 0; i < 4 * threads; ++i) CHECK(planted.out()[i] == (i < 2 * threads ? 1 : 23));
  }
}

TEST_CASE("a message that is not sent is found, and blocks that wait for ones that cannot start") {
  check_fault(found({.send = "if (t == 0 && piece != 2) send(words + piece, halves);"}), Fault::deadlock,
              "waits for a message that no block sends that has started\n  line");
  check_fault(found({.send = ""}), Fault::deadlock, "block 0, thread 0: waits for a message");
  Shape one_at_once = two_at_once;
  one_at_once.together = 1;
  check_fault(found({}, one_at_once), Fault::deadlock, "that has started");
  // A piece that is not the next, of which the device may hold none.
  check_fault(found({.receive = "if (t < 32)\n receive(words + (piece + 2) % 4, halves);"}), Fault::deadlock,
              "that has started");
}

TEST_CASE("messages that the next launch would find are found") {
  check_fault(found({.clear = ""}), Fault::counter,
              "after all blocks the counter at 4 of counters is 1, not 0");
  check_fault(found({.clear = "if (t == 0) clear_received(words + u * 2, 1, counters + 8 + u, 2);"}),
              Fault::counter, "after all blocks the counter at");
  check_fault(
      found({.clear = "if (t == 0 && piece != 3) clear_received(words + u * 2, 2, counters + 8 + u, 2);"}),
      Fault::counter, "after all blocks");
  check_fault(found({.ticket = "const int piece = (int)take_ticket(counters + 15, 5);"}), Fault::counter,
              "the counter at 60 of counters is 4");
}

TEST_CASE("a message that is cleared before all have it, or twice, is found") {
  // By the first that has it: the second waits for what is gone.
  check_fault(found({.clear = "if (t == 0) clear_received(words + u * 2, 2, counters + 8 + u, 1);"}),
              Fault::deadlock, "waits for a message");
  check_fault(found({.clear = "if (t < 2) clear_received(words + u * 2, 2, counters + 8 + u, 4);"}),
              Fault::counter, "has received a message a second time");
  check_fault(found({.send = "if (t == 0) send(words + u * 2, halves);",
                     .receive = "if (t < 32)\n receive(words + u * 2, halves);"}),
              Fault::counter, "sends a message where another was not cleared");
}

TEST_CASE("messages and tickets that lie elsewhere are found, and memory that a message gives no order") {
  check_fault(found({.send = "if (t == 0) send((uint64*)part + piece, halves);"}), Fault::counter,
              "sends a message to what is not for any");
  check_fault(found({.receive = "if (t < 32)\n receive(words + 8, halves);"}), Fault::counter,
              "waits for a message where none can be");
  check_fault(found({.ticket = "const int piece = (int)take_ticket((uint32*)part, 4);"}), Fault::counter,
              "takes a ticket from what is no counter");
  check_fault(found({.send = "if (t == 0) send((uint64*)(counters + 1), halves);"}), Fault::misaligned,
              "this one is 4 bytes beyond");
  check_fault(found({.send = "if (t == 0) part[piece] = 1.0f;\nif (t == 0) send(words + piece, halves);",
                     .clear = Parts{}.clear + "\nif (part[piece ^ 1] != 1.0f) return;"}),
              Fault::race, "reads what thread 0 of block");
  check_fault(found({.receive = "if (t < 20)\n receive(words + u * 2 + t % 2, halves);\nsync_warp();"}),
              Fault::divergence, "threads 0 to 19 wait for a message at line");
}
