// A program on libKF5Wallet. Each line of standard input is a command, and gets one line of answer. Words are in
// hexadecimal, because names may contain any character.
//
//     kwalletprogram NAME

#include <KWallet>
#include <QEventLoop>
#include <QGuiApplication>
#include <QTextStream>
#include <iostream>
#include <memory>
#include <string>

using KWallet::Wallet;

static std::unique_ptr<Wallet> wallet;

static QString hex(const QByteArray &octets)
{
    return octets.isEmpty() ? QStringLiteral("-") : QString::fromLatin1(octets.toHex());
}

static QString hex(const QStringList &texts)
{
    QStringList words;
    for (const QString &text : texts)
        words << hex(text.toUtf8());
    return words.join(QLatin1Char(' '));
}

// The answer to one command.
static QString answer(const QString &command, const QList<QByteArray> &octets)
{
    QStringList words;
    for (const QByteArray &word : octets)
        words << QString::fromUtf8(word);
    if (command == "open" || command == "open-async") {
        const bool isAsynchronous = command == "open-async";
        wallet.reset(Wallet::openWallet(words[0], 0, isAsynchronous ? Wallet::Asynchronous : Wallet::Synchronous));
        if (wallet && isAsynchronous) {
            QEventLoop loop;
            bool isOpen = false;
            QObject::connect(wallet.get(), &Wallet::walletOpened, [&](bool success) {
                isOpen = success;
                loop.quit();
            });
            loop.exec();
            if (!isOpen)
                wallet.reset();
        }
        return QString::number(wallet && wallet->isOpen());
    }
    if (command == "local")
        return hex(QStringList{Wallet::LocalWallet(), Wallet::NetworkWallet()});
    if (command == "wallets")
        return hex(Wallet::walletList());
    // Handles the signals that have arrived, such as the close of the wallet.
    QCoreApplication::processEvents();
    if (command == "is-open")
        return QString::number(wallet && wallet->isOpen());
    if (!wallet)
        return QStringLiteral("no wallet");
    if (command == "folder")
        return QString::number((wallet->hasFolder(words[0]) || wallet->createFolder(words[0])) && wallet->setFolder(words[0]));
    if (command == "folders")
        return hex(wallet->folderList());
    if (command == "entries")
        return hex(wallet->entryList());
    if (command == "type")
        return QString::number(wallet->entryType(words[0]));
    if (command == "remove")
        return QString::number(wallet->removeEntry(words[0]));
    if (command == "rename")
        return QString::number(wallet->renameEntry(words[0], words[1]));
    if (command == "write-password")
        return QString::number(wallet->writePassword(words[0], words[1]));
    if (command == "write-entry")
        return QString::number(wallet->writeEntry(words[0], octets[1]));
    if (command == "write-map") {
        QMap<QString, QString> map;
        for (int place = 1; place + 1 < words.size(); place += 2)
            map[words[place]] = words[place + 1];
        return QString::number(wallet->writeMap(words[0], map));
    }
    if (command == "read-password") {
        QString value;
        const int result = wallet->readPassword(words[0], value);
        return QString::number(result) + " " + hex(value.toUtf8());
    }
    if (command == "read-entry") {
        QByteArray value;
        const int result = wallet->readEntry(words[0], value);
        return QString::number(result) + " " + hex(value);
    }
    if (command == "read-map") {
        QMap<QString, QString> map;
        QStringList pairs;
        const int result = wallet->readMap(words[0], map);
        for (auto pair = map.cbegin(); pair != map.cend(); ++pair)
            pairs << pair.key() << pair.value();
        return QString::number(result) + " " + hex(pairs);
    }
    return QStringLiteral("unknown command");
}

int main(int argc, char **argv)
{
    QGuiApplication application(argc, argv);
    application.setApplicationName(QString::fromUtf8(argv[1]));
    for (std::string line; std::getline(std::cin, line);) {
        const QStringList words = QString::fromStdString(line).split(QLatin1Char(' '));
        QList<QByteArray> octets;
        for (int place = 1; place < words.size(); ++place)
            octets << QByteArray::fromHex(words[place].toLatin1());
        std::cout << answer(words[0], octets).toStdString() << std::endl;
    }
    wallet.reset();
    return 0;
}
