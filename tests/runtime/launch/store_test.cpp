#include "runtime/launch/store.hpp"

#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/launch/file_store.hpp"
#include "runtime/launch/socket.hpp"
#include "runtime/launch/store_protocol.hpp"
#include "runtime/launch/store_server.hpp"
#include "runtime/launch/store_session.hpp"
#include "runtime/launch/tcp_store.hpp"
#include "sim/error.hpp"

namespace foreshard::runtime {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

StoreAddress address(int port, int rank, const std::string& run_id = "run") {
    return {"localhost", port, run_id, rank};
}

std::string text_at(const Store& store, const std::string& key, std::chrono::duration<double> timeout = 10s) {
    return text_of(store.get(key, timeout));
}

std::string error_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const TransportError& error) {
        return error.what();
    }
    return "";
}

/// A folder of its own that is gone afterwards.
class Folder {
public:
    Folder() : path_(std::filesystem::path(testing::TempDir()) / ("store" + std::to_string(getpid()))) {}
    ~Folder() { std::filesystem::remove_all(path_); }
    std::string path() const { return path_.string(); }

private:
    std::filesystem::path path_;
};

TEST(TcpStore, ReadersWaitForWhatIsSetLater) {
    const StoreServer server(0, "run");
    TcpStore writer(address(server.port(), 0), 10s);
    TcpStore reader(address(server.port(), 1), 10s);
    std::string told;
    std::thread waits([&] { told = text_at(reader.store(), "late"); });
    std::this_thread::sleep_for(20ms);
    writer.store().set("late", bytes_of("here"), 0);
    waits.join();
    EXPECT_EQ(told, "here");
    EXPECT_EQ(text_at(reader.store(), "late"), "here");  // kept
}

TEST(TcpStore, ALargeValueArrivesWhole) {
    const StoreServer server(0, "run");
    TcpStore store(address(server.port(), 0), 10s);
    std::string large(5'000'000, 'x');
    for (std::size_t i = 0; i < large.size(); i += 1001) large[i] = static_cast<char>(i % 251);
    store.store().set("large", bytes_of(large), 1);
    EXPECT_EQ(text_at(store.store(), "large"), large);
}

TEST(TcpStore, ManyThreadsOfManyRanksMeet) {
    constexpr int ranks = 6;
    const StoreServer server(0, "run");
    std::vector<std::thread> threads;
    threads.reserve(ranks);
    std::vector<std::string> told(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
            TcpStore store(address(server.port(), rank), 20s);
            for (int round = 0; round < 20; ++round) {
                store.store().set("of." + std::to_string(rank) + "." + std::to_string(round),
                                  bytes_of(std::to_string(rank * 100 + round)), 1);
                meet(store.store(), "round" + std::to_string(round), rank, ranks, 20s);
                const int left = (rank + ranks - 1) % ranks;
                told[static_cast<std::size_t>(rank)] =
                    text_at(store.store(), "of." + std::to_string(left) + "." + std::to_string(round), 0.5s);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (int rank = 0; rank < ranks; ++rank) {
        const int left = (rank + ranks - 1) % ranks;
        EXPECT_EQ(told[static_cast<std::size_t>(rank)], std::to_string(left * 100 + 19));
    }
}

/// What is read as often as was said is gone.
TEST(TcpStore, ValuesAreDroppedAfterTheirLastRead) {
    const StoreServer server(0, "run");
    TcpStore store(address(server.port(), 0), 10s);
    store.store().set("twice", bytes_of("x"), 2);
    EXPECT_EQ(text_at(store.store(), "twice"), "x");
    EXPECT_EQ(text_at(store.store(), "twice"), "x");
    EXPECT_THAT(error_of([&] { text_at(store.store(), "twice", 0.1s); }), HasSubstr("twice"));
}

TEST(TcpStore, AServerThatComesLaterIsFound) {
    std::string reason;
    int port = 0;
    {
        const Socket taken = listen_on(0, reason);
        port = port_of(taken);
    }
    std::unique_ptr<StoreServer> server;
    std::thread starts([&] {
        std::this_thread::sleep_for(200ms);
        server = std::make_unique<StoreServer>(port, "run");
    });
    EXPECT_EQ(error_of([&] { const TcpStore store(address(port, 1), 20s); }), "");
    starts.join();
}

TEST(TcpStore, NobodyThereNamesHostPortAndRank) {
    std::string reason;
    int port = 0;
    {
        const Socket taken = listen_on(0, reason);
        port = port_of(taken);
    }
    EXPECT_THAT(error_of([&] { const TcpStore store(address(port, 3), 0.2s); }),
                AllOf(HasSubstr("rank 3"), HasSubstr("localhost:" + std::to_string(port)), HasSubstr("0.2 s")));
}

TEST(TcpStore, AnotherRunIsRefused) {
    const StoreServer server(0, "mine");
    EXPECT_THAT(error_of([&] { const TcpStore store(address(server.port(), 2, "yours"), 5s); }),
                AllOf(HasSubstr("'mine'"), HasSubstr("'yours'"), HasSubstr("rank 2")));
    const TcpStore welcome(address(server.port(), 2, "mine"), 5s);  // the refused one has not disturbed it
}

/// A web server, say, that has the port.
TEST(TcpStore, AnotherProgramOnThePortIsNamed) {
    std::string reason;
    const Socket listener = listen_on(0, reason);
    const int port = port_of(listener);
    std::thread answers([&] {
        Socket client;
        while (!client) client = Socket(accept(listener.descriptor(), nullptr, nullptr));
        const std::string text = "HTTP/1.1 400 Bad Request, and more than a header is long\r\n";
        send_all(client, bytes_of(text), deadline_in(1s));
        std::this_thread::sleep_for(50ms);
    });
    EXPECT_THAT(error_of([&] { const TcpStore store(address(port, 0), 5s); }), HasSubstr("another program"));
    answers.join();
}

TEST(StoreServer, ClosesOnWrongMagicAndServesOn) {
    const StoreServer server(0, "run");
    std::string reason;
    const Socket stranger = connect_to("localhost", server.port(), deadline_in(5s), reason);
    ASSERT_TRUE(stranger) << reason;
    send_all(stranger, bytes_of("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), deadline_in(1s));
    std::vector<std::byte> answer(1);
    EXPECT_EQ(receive_all(stranger, answer, deadline_in(5s)), Transfer::closed);
    TcpStore store(address(server.port(), 0), 5s);
    store.store().set("a", bytes_of("b"), 0);
    EXPECT_EQ(text_at(store.store(), "a"), "b");
}

/// Lengths that no memory holds, and a sum of lengths that wraps around.
TEST(StoreServer, NonsenseLengthsCloseTheConnection) {
    const StoreServer server(0, "run");
    for (const std::uint64_t bytes :
         {~std::uint64_t{0}, ~std::uint64_t{0} - store_header_bytes + 1, store_longest_value + 1, std::uint64_t{1}}) {
        std::string reason;
        const Socket stranger = connect_to("localhost", server.port(), deadline_in(5s), reason);
        ASSERT_TRUE(stranger) << reason;
        StoreHeader header{store_magic, StoreCall::hello, 1, 3, bytes};
        const auto head = std::as_bytes(std::span(&header, 1));
        send_all(stranger, joined({head, bytes_of("run")}), deadline_in(1s));
        std::vector<std::byte> answer(1);
        EXPECT_EQ(receive_all(stranger, answer, deadline_in(5s)), Transfer::closed) << bytes;
    }
    TcpStore store(address(server.port(), 0), 5s);
    store.store().set("a", bytes_of("b"), 0);
    EXPECT_EQ(text_at(store.store(), "a"), "b");
}

/// A rank that sends without end is read in turns: others are served meanwhile.
TEST(StoreServer, AFloodDoesNotKeepOthersWaiting) {
    const StoreServer server(0, "run");
    TcpStore store(address(server.port(), 0), 20s);
    const std::jthread floods([&](const std::stop_token& stop) {
        std::string reason;
        const Socket socket = connect_to("localhost", server.port(), deadline_in(5s), reason);
        send_all(socket, encode(StoreCall::hello, 1, "run", {}), deadline_in(5s));
        const std::vector<std::byte> frame = encode(StoreCall::set, 0, "flood", std::vector<std::byte>(1 << 16));
        while (!stop.stop_requested() && send_all(socket, frame, deadline_in(5s)) == Transfer::done) continue;
        send_all(socket, encode(StoreCall::bye, 0, "", {}), deadline_in(5s));
    });
    for (int i = 0; i < 20; ++i) {
        store.store().set("a" + std::to_string(i), bytes_of("b"), 1);
        EXPECT_EQ(text_at(store.store(), "a" + std::to_string(i), 20s), "b");
    }
}

/// An answer that claims more than will ever come ends at the deadline, without room being made for all of it.
TEST(TcpStore, AnAnswerOfNonsenseLengthEndsInTime) {
    std::string reason;
    const Socket listener = listen_on(0, reason);
    ASSERT_TRUE(listener) << reason;
    std::thread answers([&] {
        Socket client;
        while (!client) client = Socket(accept(listener.descriptor(), nullptr, nullptr));
        const StoreHeader header{store_magic, StoreCall::ok, 0, 0, store_longest_value};
        send_all(client, std::as_bytes(std::span(&header, 1)), deadline_in(1s));
        std::this_thread::sleep_for(500ms);
    });
    EXPECT_THAT(error_of([&] { const TcpStore store(address(port_of(listener), 0), 0.3s); }),
                HasSubstr("gave no answer in time"));
    answers.join();
}

TEST(StoreServer, APortThatIsTakenIsNamed) {
    const StoreServer server(0, "run");
    EXPECT_THAT(error_of([&] { const StoreServer second(server.port(), "run"); }),
                AllOf(HasSubstr(std::to_string(server.port())), HasSubstr("MASTER_PORT")));
}

TEST(TcpStore, AFailureReachesThoseWhoWait) {
    const StoreServer server(0, "run");
    TcpStore waits(address(server.port(), 0), 10s);
    TcpStore fails(address(server.port(), 1), 10s);
    std::thread later([&] {
        std::this_thread::sleep_for(20ms);
        fails.store().fail(1, "rank 1 has no memory");
    });
    EXPECT_EQ(error_of([&] { text_at(waits.store(), "never"); }), "rank 1 has no memory");
    later.join();
}

/// A process that dies says no goodbye.
TEST(TcpStore, ALostProcessIsNoticed) {
    const StoreServer server(0, "run");
    TcpStore waits(address(server.port(), 0), 10s);
    const pid_t child = fork();
    if (child == 0) {
        const auto* lost = new TcpStore(address(server.port(), 4), 10s);
        _exit(lost == nullptr ? 1 : 0);  // without destructors
    }
    EXPECT_THAT(error_of([&] { text_at(waits.store(), "never"); }), AllOf(HasSubstr("rank 4"), HasSubstr("lost")));
    waitpid(child, nullptr, 0);
}

TEST(TcpStore, ClocksOfOneHostAgreeWithinTheResidual) {
    const StoreServer server(0, "run");
    TcpStore store(address(server.port(), 1), 10s);
    const ClockOffset offset = measure_clock(store.store(), 1, 2);
    EXPECT_LE(std::abs(offset.ahead.count()), offset.residual.count());
    EXPECT_LT(offset.residual, 1s);
}

TEST(FileStore, ReadersWaitAndNothingIsLeftBehind) {
    const Folder folder;
    {
        FileStore first(folder.path(), "run 7/a", 0);
        FileStore second(folder.path(), "run 7/a", 1);
        std::string told;
        std::thread waits([&] { told = text_at(second.store(), "pp.1-to-2/x"); });
        first.store().set("pp.1-to-2/x", bytes_of("here"), 1);
        waits.join();
        EXPECT_EQ(told, "here");
        std::thread other([&] { meet(second.store(), "end", 1, 2, 10s); });
        meet(first.store(), "end", 0, 2, 10s);
        other.join();
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(FileStore, FilesOfAnotherRunAreNotRead) {
    const Folder folder;
    FileStore old(folder.path(), "yesterday", 0);
    old.store().set("id", bytes_of("stale"), 0);
    FileStore mine(folder.path(), "today", 1);
    EXPECT_THAT(error_of([&] { text_at(mine.store(), "id", 0.1s); }), AllOf(HasSubstr("rank 1"), HasSubstr("today")));
    mine.store().fail(1, "rank 1 gives up");
    EXPECT_EQ(error_of([&] { text_at(mine.store(), "id"); }), "rank 1 gives up");
    EXPECT_EQ(text_at(old.store(), "id"), "stale");
}

/// Files that a killed run left would be taken for this one's.
TEST(FileStore, ARunIdThatIsUsedAlreadyIsRefused) {
    const Folder folder;
    const FileStore first(folder.path(), "run", 0);
    const FileStore other(folder.path(), "run", 1);
    try {
        const FileStore again(folder.path(), "run", 1);
        FAIL() << "was not refused";
    } catch (const InputError& error) {
        EXPECT_EQ(error.source(), "--run-id");
        EXPECT_THAT(error.what(), AllOf(HasSubstr("'run'"), HasSubstr("rank 1"), HasSubstr(folder.path())));
    }
}

TEST(FileStore, NamesOfRunsAndKeysDoNotRunTogether) {
    const Folder folder;
    FileStore job(folder.path(), "job", 0);
    FileStore part(folder.path(), "job.a", 0);
    job.store().set("a.b", bytes_of("mine"), 0);
    EXPECT_THAT(error_of([&] { text_at(part.store(), "b", 0.05s); }), HasSubstr("nobody wrote"));
}

TEST(FileStore, AFolderThatCannotBeWrittenIsNamed) {
    EXPECT_THAT(error_of([] { const FileStore store("/proc/none", "run", 2); }),
                AllOf(HasSubstr("rank 2"), HasSubstr("/proc/none")));
}

TEST(FileStore, ClocksAreSetInTurn) {
    const Folder folder;
    FileStore zero(folder.path(), "run", 0);
    FileStore one(folder.path(), "run", 1);
    std::thread tells([&] { measure_clock(zero.store(), 0, 2); });
    const ClockOffset offset = measure_clock(one.store(), 1, 2);
    tells.join();
    EXPECT_LE(std::abs(offset.ahead.count()), offset.residual.count());
}

TEST(StoreSession, NamesTheRankThatDoesNotCome) {
    std::string reason;
    LaunchEnvironment launch;
    launch.ranks = 2;
    launch.host = "localhost";
    {
        const Socket taken = listen_on(0, reason);
        launch.port = port_of(taken);
    }
    EXPECT_THAT(error_of([&] { const StoreSession session(launch, std::nullopt, 0.2s); }), HasSubstr("rank 1"));
    launch.run_id = "none";
    EXPECT_THROW(StoreSession(launch, testing::TempDir(), 0.2s), InputError);
}

}  // namespace
}  // namespace foreshard::runtime
